"""The WSGI entry of `gunicorn wsgi:app`. Patches first: Peewee and psycopg must see gevent's sockets and locks."""

from gevent import monkey

monkey.patch_all()

import atexit  # noqa: E402
import gc  # noqa: E402
import sys  # noqa: E402

import app as application  # noqa: E402
from config import Settings  # noqa: E402
from serving import shared_counters  # noqa: E402

settings = Settings.from_env()
# Before the first meter is made: what this worker counts, every worker can show.
shared_counters.share(settings.data_dir / shared_counters.DIRECTORY_NAME, settings.http_stack)
app = application.create_app(settings)
application.start(app)
# The hub gets its turn this soon while a pool thread runs Python (docs/decisions/json-decoding.md has the measurement).
sys.setswitchinterval(0.001)
# What is imported stays for good: full collections need not walk it, which would take 10 ms each time.
gc.collect()
gc.freeze()
# A body's events are thousands of objects, none of them garbage before its end; cycles are rare here.
gc.set_threshold(50_000, 20, 20)
# A worker that ends in order leaves a sealed segment behind. One that is killed loses nothing either.
atexit.register(application.stop, app)
