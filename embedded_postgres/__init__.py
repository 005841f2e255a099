"""The PostgreSQL that Weir brings along: a cluster under the data directory."""
