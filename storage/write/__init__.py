"""Events into the write-ahead log: columns mapped, batches committed in groups, requests stored once."""
