"""Lexical shortcuts: does an explanation find the words that were planted to decide?

The protocol of Bastings et al. 2022. `run.py` runs it, `show.py` writes its tables.
"""
