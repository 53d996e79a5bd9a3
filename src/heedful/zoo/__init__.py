"""Models whose truth is known because it was put there, and how the verdict does on them."""
