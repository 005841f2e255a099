"""What Weir counts of itself, over all workers of the host. Knows numbers and labels, not where they come from."""
