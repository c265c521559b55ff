"""Cases of models that are no networks, a file per family."""

from estimators import handmade, learned

FAMILIES = (handmade, learned)
