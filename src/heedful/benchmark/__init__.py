"""Models whose truth is known, and how verdicts, explanations and measures do on them."""
