"""The store: one folder per run, named by the hash of what made it."""

from heedful.store.frames import SCHEMA_VERSION, Frames
from heedful.store.keys import canonical, run_key
from heedful.store.places import Place
from heedful.store.remote_store import store_at
from heedful.store.run import Run
from heedful.store.store import Store, Writer, store_of

__all__ = [
    "SCHEMA_VERSION",
    "Frames",
    "Place",
    "Run",
    "Store",
    "Writer",
    "canonical",
    "run_key",
    "store_at",
    "store_of",
]
