"""What was asked for: bind plans, read and resolved to a target for each thread."""
