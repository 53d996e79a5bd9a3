"""Each formula a second time, as its paper writes it: slow, plain loops, no shared code."""
