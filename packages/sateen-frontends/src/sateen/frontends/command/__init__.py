"""The `sateen` command: one module per verb, and what verbs share."""
