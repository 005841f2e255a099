"""Process plumbing: supervision of children, stops and parents, file locks. Knows nothing of what the processes do."""
