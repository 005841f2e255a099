"""Query processes: the pool that owns them, their protocol, and what runs inside them."""
