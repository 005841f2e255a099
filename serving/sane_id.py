"""Which ids of requests are taken from clients: such as go into a header and a log line as they are."""

import re
from typing import Final

SANE_ID: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
