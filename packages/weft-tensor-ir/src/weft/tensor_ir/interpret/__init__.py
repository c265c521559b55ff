"""The oracles: tensor expressions evaluated from their definition, and loop IR executed with every access checked."""
