"""Live tails: statements that go on over what is acknowledged, in one process per worker."""
