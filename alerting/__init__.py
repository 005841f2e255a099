"""Alerts at work: when they are evaluated, what comes of it, and how notices get to their targets."""
