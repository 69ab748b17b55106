"""What others write bindings in, one file a dialect; each gives the one internal plan."""
