"""Attention: states to one score per token. Computing weights is apart from using them."""
