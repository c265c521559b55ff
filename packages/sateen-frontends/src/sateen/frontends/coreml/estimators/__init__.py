"""Models that are no networks: each is one step, from its features to its outputs."""
