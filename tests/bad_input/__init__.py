"""A catalogue of bad inputs, a file for each group. See `entry.py` for what an entry is."""
