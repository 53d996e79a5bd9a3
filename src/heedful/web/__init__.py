"""Pages that are served: a model to be asked, its attention to be moved by hand."""
