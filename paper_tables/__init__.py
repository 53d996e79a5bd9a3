"""Published beside measured, over all papers: this repository's own pages, not part of the wheel.

`heedful study all --report` in a checkout writes `docs/reproduction.md` and `docs/findings.md` from
the compact rows in `reproduction/` and from nothing else, so both can be made again byte for byte.
"""
