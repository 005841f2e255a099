"""The WSGI entry of `gunicorn wsgi:app`. Patches first: Peewee and psycopg must see gevent's sockets and locks."""

from gevent import monkey

monkey.patch_all()

import app as application  # noqa: E402
from config import Settings  # noqa: E402

app = application.create_app(Settings.from_env())
