"""Iceberg tables out of the manifest: pure functions of what PostgreSQL says, and their publication."""
