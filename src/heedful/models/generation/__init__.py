"""Writing targets: greedy and beam search, once for every family that writes."""
