"""Measures: numbers about a model's attention and its explanations, one per example."""
