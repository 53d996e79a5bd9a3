"""The store: one folder per run, named by the hash of what made it."""

from heedful.store.keys import canonical, run_key
from heedful.store.run import SCHEMA_VERSION, Run
from heedful.store.store import Store, Writer

__all__ = ["SCHEMA_VERSION", "Run", "Store", "Writer", "canonical", "run_key"]
