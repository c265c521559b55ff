"""SavedModels."""

MODULES = {}
LAYERS = {}
