"""Metrics datasets as PromQL sees them: rows as series, label sets, and answers in Prometheus' JSON."""
