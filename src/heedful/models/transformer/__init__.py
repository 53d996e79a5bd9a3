"""A Transformer encoder and decoder of our own, written with plain products."""
