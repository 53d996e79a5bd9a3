"""Hugging Face models behind `heedful.types.Model`: `attach.attach` is the way in.

transformers is imported where it is needed, never by importing this package.
"""
