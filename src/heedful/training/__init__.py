"""Training: an explicit loop that can be killed and resumed."""
