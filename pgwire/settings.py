"""The run-time parameters of a session: SET, SHOW, RESET, and what of them a client is told unasked.

What would change answers and is not ours to change (date style) takes the one value that we compute with.
Parameters that only tune a PostgreSQL server are kept and shown, and do nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pgwire import time_zone
from pgwire.errors import PgError

Read = Callable[[str], str]
# PostgreSQL's names, in the case in which it reports them: those of which clients are told at every change.
REPORTED: Final = (
    *("server_version", "server_encoding", "client_encoding", "application_name", "default_transaction_read_only"),
    *("in_hot_standby", "is_superuser", "session_authorization", "DateStyle", "IntervalStyle", "TimeZone"),
    *("integer_datetimes", "standard_conforming_strings"),
)
_UNITS: Final = {"us": 0.001, "ms": 1.0, "s": 1_000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0, "": 1.0}
_TIME: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d|)\s*")
LARGEST_MS: Final = 2**31 - 1
LONGEST_VALUE: Final = 1_000


class _Refused(ValueError):
    """The value cannot be set; the text says why."""


def _only(*allowed: str, shown: str, hint: str) -> Read:
    def read(text: str) -> str:
        if text.lower().replace('"', "").replace(" ", "") not in allowed:
            raise _Refused(hint)
        return shown

    return read


def _free(text: str) -> str:
    if len(text) > LONGEST_VALUE:
        raise _Refused(f"a value has {LONGEST_VALUE} characters at most")
    return text


def _zone(text: str) -> str:
    try:
        return time_zone.read(text)
    except time_zone.UnknownTimeZone as error:
        raise _Refused(str(error)) from error


def _encoding(text: str) -> str:
    plain = text.upper().replace("-", "").replace("_", "").strip("'\" ")
    if plain in ("UTF8", "UNICODE"):
        return "UTF8"
    if plain == "SQLASCII":
        # PostgreSQL then sends its own bytes, which are UTF-8.
        return "SQL_ASCII"
    raise _Refused("texts are sent in UTF8")


def _boolean(text: str) -> str:
    lowered = text.lower()
    if lowered in ("on", "true", "yes", "1", "t", "y"):
        return "on"
    if lowered in ("off", "false", "no", "0", "f", "n"):
        return "off"
    raise _Refused("a Boolean value is needed")


def _number(text: str) -> str:
    if not re.fullmatch(r"-?\d{1,10}", text):
        raise _Refused("a whole number is needed")
    return str(int(text))


def _time(text: str) -> str:
    milliseconds(text)
    return text


def milliseconds(text: str) -> int:
    """A time as PostgreSQL reads it: milliseconds without a unit. Raises ValueError.

    >>> milliseconds("5s"), milliseconds("250"), milliseconds("1.5 min")
    (5000, 250, 90000)
    """
    match = _TIME.fullmatch(text)
    value = float(match[1]) * _UNITS[match[2]] if match else -1
    if not 0 <= value <= LARGEST_MS:
        raise _Refused("milliseconds are needed, or a time such as 5s")
    return round(value)


_isolation: Final = _only(
    *("readcommitted", "readuncommitted", "repeatableread", "serializable"), shown="", hint="no such isolation level"
)


def _level(text: str) -> str:
    _isolation(text)
    return text.lower()


_ISO: Final = _only("iso", "iso,mdy", "mdy,iso", "mdy", shown="ISO, MDY", hint="dates are written as ISO, MDY")
_READ_ONLY: Final = _only(*("on", "true", "yes", "1", "t"), shown="on", hint="Weir is read-only over this protocol")
_STANDARD: Final = _only("on", "true", "yes", "1", shown="on", hint="a backslash in a text is a backslash: use E'...'")
# Name in lower case: name as shown, value at the start, how a value is read; None: nobody can set it.
PARAMETERS: Final[Mapping[str, tuple[str, str, Read | None]]] = {
    name.lower(): (name, value, read)
    for name, value, read in (
        ("application_name", "", _free),
        ("array_nulls", "on", _boolean),
        ("backslash_quote", "safe_encoding", _free),
        ("bytea_output", "hex", _only("hex", shown="hex", hint="bytea is written in hex")),
        ("check_function_bodies", "on", _boolean),
        ("client_encoding", "UTF8", _encoding),
        ("client_min_messages", "notice", _free),
        ("cursor_tuple_fraction", "0.1", _free),
        ("DateStyle", "ISO, MDY", _ISO),
        ("default_table_access_method", "heap", _free),
        ("default_tablespace", "", _free),
        ("default_text_search_config", "pg_catalog.simple", _free),
        ("default_transaction_deferrable", "off", _boolean),
        ("default_transaction_isolation", "read committed", _level),
        ("default_transaction_read_only", "on", _READ_ONLY),
        ("effective_cache_size", "4GB", _free),
        ("enable_bitmapscan", "on", _boolean),
        ("enable_hashagg", "on", _boolean),
        ("enable_hashjoin", "on", _boolean),
        ("enable_indexscan", "on", _boolean),
        ("enable_mergejoin", "on", _boolean),
        ("enable_nestloop", "on", _boolean),
        ("enable_seqscan", "on", _boolean),
        ("enable_sort", "on", _boolean),
        ("escape_string_warning", "on", _boolean),
        ("extra_float_digits", "1", _number),
        ("force_parallel_mode", "off", _free),
        ("from_collapse_limit", "8", _number),
        ("geqo", "on", _boolean),
        ("idle_in_transaction_session_timeout", "0", _time),
        ("idle_session_timeout", "0", _time),
        ("in_hot_standby", "off", None),
        ("integer_datetimes", "on", None),
        (
            "IntervalStyle",
            "postgres",
            _only("postgres", shown="postgres", hint="intervals are written in the style postgres"),
        ),
        ("is_superuser", "off", None),
        ("jit", "off", _boolean),
        ("join_collapse_limit", "8", _number),
        ("lc_collate", "C", None),
        ("lc_ctype", "C", None),
        ("lc_messages", "C", _free),
        ("lc_monetary", "C", _free),
        ("lc_numeric", "C", _free),
        ("lc_time", "C", _free),
        ("lock_timeout", "0", _time),
        ("maintenance_work_mem", "64MB", _free),
        ("max_identifier_length", "63", None),
        ("max_index_keys", "32", None),
        ("max_parallel_workers_per_gather", "0", _number),
        ("plan_cache_mode", "auto", _free),
        ("quote_all_identifiers", "off", _boolean),
        ("random_page_cost", "4", _free),
        ("role", "none", _only("none", shown="none", hint="a session has the role that it logged in with")),
        ("row_security", "on", _boolean),
        ("search_path", '"$user", public', _free),
        ("server_encoding", "UTF8", None),
        ("server_version", "", None),
        ("server_version_num", "", None),
        ("session_authorization", "", None),
        ("session_replication_role", "origin", None),
        ("standard_conforming_strings", "on", _STANDARD),
        ("statement_timeout", "0", _time),
        ("synchronize_seqscans", "on", _boolean),
        ("synchronous_commit", "on", _free),
        ("TimeZone", "UTC", _zone),
        ("transaction_deferrable", "off", _boolean),
        ("transaction_isolation", "read committed", _level),
        ("transaction_read_only", "on", _READ_ONLY),
        ("transform_null_equals", "off", _only("off", "false", "0", shown="off", hint="it is not supported")),
        ("work_mem", "4MB", _free),
        ("xmlbinary", "base64", _free),
        ("xmloption", "content", _free),
        ("vacuum_cost_delay", "0", _free),
    )
}
ALIASES: Final = {
    "time zone": "timezone",
    "names": "client_encoding",
    "session characteristics": "transaction_isolation",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A parameter as SHOW gives it."""

    name: str
    value: str


class SessionSettings:
    """The parameters of one session. What is set belongs to a transaction, be it that of one message.

    Source: PostgreSQL's manual, SET: it is undone with its transaction, and with what follows a savepoint.
    """

    def __init__(self, fixed: Mapping[str, str]) -> None:
        self._defaults = {name: value for name, (_, value, _) in PARAMETERS.items()} | dict(fixed)
        self._values: dict[str, str] = {}
        self._before: dict[str, str] | None = None
        self._local: dict[str, str | None] = {}
        self._saved: list[tuple[dict[str, str], dict[str, str | None]]] = []

    def start(self, parameters: Mapping[str, str]) -> None:
        """Take what a client's first message sets; it is the default from now on. Raises PgError.

        A time zone that is none of ours is left out, as drivers send their machine's: ParameterStatus tells of UTC.
        """
        for name, value in parameters.items():
            try:
                self._defaults[_key(name)] = self._read(name, value)
            except PgError:
                if _key(name) != "timezone":
                    raise

    def set(self, name: str, value: str, *, is_local: bool = False) -> None:
        """Raises PgError. Local: until the transaction ends."""
        key = _key(name)
        read = self._read(name, value)
        self.begin()
        if is_local:
            self._local.setdefault(key, self._values.get(key))
        else:
            self._local.pop(key, None)
        self._values[key] = read

    def reset(self, name: str | None = None) -> None:
        """Back to the start's value, of one parameter or of all. Raises PgError."""
        if name is not None:
            self.show(name)
        self.begin()
        for key in list(self._values) if name is None else [_key(name)]:
            self._values.pop(key, None)
            self._local.pop(key, None)

    def show(self, name: str) -> Shown:
        """Raises PgError for a name that there is not."""
        key = _key(name)
        value = self._values.get(key, self._defaults.get(key))
        if value is None:
            raise PgError("42704", f'unrecognized configuration parameter "{name}"')
        return Shown(PARAMETERS[key][0] if key in PARAMETERS else key, value)

    def show_all(self) -> Iterator[Shown]:
        for key in sorted({**self._defaults, **self._values}):
            yield self.show(key)

    def reported(self) -> dict[str, str]:
        """What clients are told of."""
        return {name: self.show(name).value for name in REPORTED}

    def statement_timeout_seconds(self) -> float | None:
        """None: no limit of the client's own."""
        return milliseconds(self.show("statement_timeout").value) / 1_000 or None

    def begin(self) -> None:
        """What is set before a BEGIN of the same message is of its transaction."""
        if self._before is None:
            self._before = dict(self._values)

    def commit(self) -> None:
        for key, value in self._local.items():
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
        self._end()

    def roll_back(self) -> None:
        if self._before is not None:
            self._values = self._before
        self._end()

    def save(self) -> None:
        """At a savepoint; they are numbered from 1."""
        self._saved.append((dict(self._values), dict(self._local)))

    def release(self, kept: int) -> None:
        """Forget all savepoints but so many; what was set since stays."""
        del self._saved[kept:]

    def roll_back_to(self, number: int) -> None:
        """The savepoint itself stays, to be gone back to again."""
        self.release(number)
        values, local = self._saved[-1]
        self._values, self._local = dict(values), dict(local)

    def _end(self) -> None:
        self._local.clear()
        self._saved.clear()
        self._before = None

    def _read(self, name: str, value: str) -> str:
        key = _key(name)
        if key not in PARAMETERS:
            if "." in key:
                return _free(value)
            raise PgError("42704", f'unrecognized configuration parameter "{name}"')
        name, _, read = PARAMETERS[key]
        if read is None:
            raise PgError("55P02", f'parameter "{name}" cannot be changed')
        try:
            return read(value)
        except _Refused as error:
            raise PgError("22023", f'invalid value for parameter "{name}": "{value[:100]}"', hint=str(error)) from error


def _key(name: str) -> str:
    lowered = name.lower()
    return ALIASES.get(lowered, lowered)
