"""Loki push: pure functions from a body to rows. The rules for users are in docs/ingestion-loki.md."""
