"""Replication: what a run rests on (citations), and studies that are registered before they run."""
