"""The `weft` command: one module per verb, and what verbs share."""
