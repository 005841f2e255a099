"""HTTP under gunicorn: its gevent worker, with less to do for each request."""
