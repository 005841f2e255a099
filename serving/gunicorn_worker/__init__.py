"""gunicorn's gevent worker with less to do for each request."""
