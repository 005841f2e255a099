"""The dataset that a payload's own word for its origin means. Pure."""

import re
from typing import Final

from errors import InvalidRequest

MOST_DATASETS: Final = 100
"""Of one request. Each may have to be created: a body of names would otherwise keep PostgreSQL busy."""

LONGEST: Final = 100
_UNUSABLE: Final = re.compile(r"[^A-Za-z0-9_-]")


def dataset_named(text: str) -> str:
    """An index, source or service as a dataset's name: every character that cannot be in one becomes `_`.

    Whether a dataset may be called so is still to be asked: it may be an SQL keyword, for example.

    >>> dataset_named("logs-app.2026"), dataset_named("/var/log/syslog")
    ('logs-app_2026', '_var_log_syslog')
    """
    return _UNUSABLE.sub("_", text[:LONGEST])


def require_few(names: list[str]) -> list[str]:
    """The names. Raises InvalidRequest when one request has more than `MOST_DATASETS`."""
    if len(names) > MOST_DATASETS:
        raise InvalidRequest(f"the request names more than {MOST_DATASETS} datasets", limit=MOST_DATASETS)
    return names
