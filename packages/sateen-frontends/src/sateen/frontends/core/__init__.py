"""What all readers of model formats share: a reader knows its format, this room knows graphs, names, gaps and files."""
