"""Engines: where jobs are run. Each is one function, and none changes a result."""
