"""Recurrent encoder and decoder with attention at every step of writing."""
