"""Randomised conformance: generated commands on hostile files, each in a process of its own."""
