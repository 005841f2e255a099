"""Elasticsearch bulk bodies: pure functions from a body to rows. For users: docs/ingestion-elasticsearch.md."""
