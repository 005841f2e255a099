"""The write-ahead log: records in segments, durable before anybody is told. Knows bytes, no dataset's schema."""
