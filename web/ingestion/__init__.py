"""The way of events in: a table of protocols, and one pipeline for all of them. Routes: blueprints/ingestion.py."""
