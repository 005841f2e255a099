"""The catalogue: a real PostgreSQL with a table for each dataset that an identity may see. It answers for itself."""
