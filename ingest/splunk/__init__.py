"""Splunk's HTTP Event Collector: pure functions from a body to rows. For users: docs/ingestion-splunk.md."""
