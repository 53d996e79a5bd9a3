"""Models whose truth is known because it was written into their weights."""
