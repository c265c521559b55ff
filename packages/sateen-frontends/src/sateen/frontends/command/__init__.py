"""The `sateen` command: one module per verb, and the modules that verbs share."""
