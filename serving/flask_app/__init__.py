"""Flask with less to do for each request."""
