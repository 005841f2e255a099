"""JSON bodies to columns: an exact path for everything, a verified fast path for what is alike."""
