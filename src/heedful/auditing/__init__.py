"""The audit: a model, its texts, every explanation, one verdict."""
