"""The dataset that a payload's own word for its origin means. Pure."""

import re
from typing import Final

LONGEST: Final = 100
_UNUSABLE: Final = re.compile(r"[^A-Za-z0-9_-]")


def dataset_named(text: str) -> str:
    """An index, source or service as a dataset's name: every character that cannot be in one becomes `_`.

    Whether a dataset may be called so is still to be asked: it may be an SQL keyword, for example.

    >>> dataset_named("logs-app.2026"), dataset_named("/var/log/syslog")
    ('logs-app_2026', '_var_log_syslog')
    """
    return _UNUSABLE.sub("_", text[:LONGEST])
