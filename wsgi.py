"""The WSGI entry of `gunicorn wsgi:app`. Patches first: Peewee and psycopg must see gevent's sockets and locks."""

from gevent import monkey

monkey.patch_all()

import atexit  # noqa: E402

import app as application  # noqa: E402
from config import Settings  # noqa: E402

app = application.create_app(Settings.from_env())
application.start(app)
# A worker that ends in order leaves a sealed segment behind. One that is killed loses nothing either.
atexit.register(application.stop, app)
