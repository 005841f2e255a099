"""Full text search with the configuration `simple`: tokens of texts, queries, and which texts match."""
