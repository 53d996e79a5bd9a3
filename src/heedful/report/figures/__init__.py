"""The figures of a report, drawn from the tidy rows of the probes."""
