"""How long the papers' procedures take as written, and how long Heedful's take: `make bench`."""
