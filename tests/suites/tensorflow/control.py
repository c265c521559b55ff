"""Loops and choices."""

CONTROL = {}
