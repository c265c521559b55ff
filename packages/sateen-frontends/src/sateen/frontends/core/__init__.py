"""The shared core of all readers of model formats: a reader knows its format, this room knows graphs, names, gaps and
files."""
