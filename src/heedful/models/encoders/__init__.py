"""Encoders: embeddings to states, one per token."""
