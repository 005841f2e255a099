"""HTTP: a module per endpoint group, registered by registry.py. What they share is in web/."""
