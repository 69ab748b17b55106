"""The machine, immutable: sets of hardware threads, not a tree."""
