"""What to write instead of what other products understand: hints for refusals. Knows no syntax and no data.

Every expression is PostgreSQL's and runs here (tests/query/test_advice.py): a hint that fails is worse than none.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ONLY_QUERIES: Final = "only queries can run: SELECT, WITH, VALUES or a set operation"
LIST_DATASETS: Final = "SELECT table_name FROM information_schema.tables lists the datasets"
LIST_COLUMNS: Final = (
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '...' lists the columns"
)

PIPELINE: Final = "this is SQL: conditions go in WHERE, counts with GROUP BY"

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("MERGE", "ALTER", "RESET", "BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "GRANT", "REVOKE"),
                *("VACUUM", "ANALYZE", "CALL", "DO", "LISTEN", "UNLISTEN", "NOTIFY", "PREPARE", "EXECUTE", "DECLARE"),
                *("MOVE", "CLOSE", "REFRESH", "COMMENT", "LOCK", "SAVEPOINT", "RELEASE", "REINDEX", "CLUSTER", "LOAD"),
                *("CHECKPOINT", "DISCARD", "DEALLOCATE", "REASSIGN", "IMPORT", "UPDATE", "FETCH"),
            ),
            ONLY_QUERIES,
        ),
        **dict.fromkeys(("INSERT", "COPY"), f"{ONLY_QUERIES}; events come in by POST /api/v1/ingest"),
        **dict.fromkeys(
            ("DELETE", "TRUNCATE"), f"{ONLY_QUERIES}; events go by the retention of their dataset, or with the dataset"
        ),
        "CREATE": f"{ONLY_QUERIES}; a dataset is created by its first event, or by PUT /api/v1/logstream/{{name}}",
        "DROP": f"{ONLY_QUERIES}; a dataset is deleted by DELETE /api/v1/logstream/{{name}}",
        "SET": f"{ONLY_QUERIES}; the time zone is UTC: write AT TIME ZONE for another",
        "SHOW": f"{LIST_DATASETS}; {LIST_COLUMNS}",
    }
)
"""First words of PostgreSQL's statements that are no queries, and what to do instead."""

_COMMANDS_ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("DESCRIBE", "DESC"), LIST_COLUMNS),
        "\\": f"{LIST_DATASETS}; {LIST_COLUMNS}",
        "{": "this is SQL; PromQL is asked at /prometheus/api/v1/query",
        "USE": "datasets have no schema and no database: name the dataset in FROM",
    }
)
"""First words that PostgreSQL's parser has not: other databases' and psql's own."""

_WRITE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)": ("median", "approx_median", "quantileexact"),
        "percentile_cont(0.95) WITHIN GROUP (ORDER BY x)": (
            *("quantile", "percentile", "approx_percentile", "approx_percentile_cont", "approx_quantile"),
            *("quantile_cont", "percentile_approx", "quantiles", "quantiletdigest", "quantile_over_time", "p95", "p99"),
        ),
        "percentile_disc(0.95) WITHIN GROUP (ORDER BY x)": ("quantile_disc",),
        "avg(x)": ("mean", "average"),
        "(x - lag(x) OVER (ORDER BY t)) / extract(epoch FROM t - lag(t) OVER (ORDER BY t))": (
            *("rate", "irate", "per_second", "deriv", "derivative"),
        ),
        "x - lag(x) OVER (ORDER BY t)": ("increase", "delta", "idelta", "difference", "non_negative_difference"),
        "avg(x) OVER (ORDER BY t ROWS 4 PRECEDING)": ("moving_average", "moving_avg", "movavg"),
        "date_bin('5 minutes', t, '2000-01-01')": (
            *("time_bucket", "time_bucket_gapfill", "tostartofinterval", "tostartoffiveminutes", "timeslice", "tumble"),
            *("time_slice", "timestamp_bucket", "date_bucket", "bucket", "histogram"),
        ),
        "date_trunc('minute', t)": ("tostartofminute",),
        "date_trunc('hour', t)": ("tostartofhour", "trunc_date"),
        "date_trunc('day', t)": ("tostartofday", "date_floor"),
        "text ILIKE '%word%'": (
            *("match_all", "match_all_raw", "match_all_raw_ignore_case", "match_phrase", "str_match", "fuzzy_match"),
            *("str_match_ignore_case", "contains", "string_contains", "position_case_insensitive", "match_any"),
        ),
        "text LIKE '%end'": ("endswith", "ends_with", "end_with"),
        "starts_with(text, 'begin')": ("startswith", "start_with", "string_starts_with"),
        "text ~ 'pattern'": (
            *("regexp_contains", "re_match", "regex_match", "regexp_matches_any", "rlike", "regexp", "match"),
            "regexp_full_match",
        ),
        "substring(text from 'pattern')": (
            *("regexp_extract", "regex_extract", "re_extract", "extract_regexp", "regexp_capture"),
        ),
        "strpos(text, 'part')": ("instr", "locate", "charindex", "indexof", "index_of"),
        "length(text)": ("len", "string_length", "lengthutf8", "str_len", "strlen"),
        "lower(text)": ("lcase", "to_lower", "tolower"),
        "upper(text)": ("ucase", "to_upper", "toupper"),
        "to_char(t, 'YYYY-MM-DD HH24:MI:SS')": (
            *("strftime", "date_format", "format_date", "formatdatetime", "format_datetime", "format_timestamp"),
        ),
        "to_timestamp(text, 'YYYY-MM-DD HH24:MI:SS')": (
            *("strptime", "str_to_date", "parse_datetime", "parsedatetime", "parse_timestamp", "date_parse"),
        ),
        "text::timestamptz": (
            "to_datetime",
            "todatetime",
            "parsedatetimebesteffort",
            "datetime",
            "from_iso8601_timestamp",
        ),
        "to_timestamp(x)": ("from_unixtime", "fromunixtimestamp", "from_epoch", "to_timestamp_seconds"),
        "to_timestamp(x / 1000)": ("to_timestamp_millis", "from_unixtime_millis"),
        "extract(epoch FROM t)": ("unix_timestamp", "to_unixtime", "tounixtimestamp", "epoch", "to_unix_timestamp"),
        "extract(epoch FROM t - '2026-01-01')": ("datediff", "date_diff", "timestampdiff", "timediff"),
        "t + interval '1 day'": ("dateadd", "adddate", "timestampadd", "adddays", "addhours", "date_sub", "subdate"),
        "now()": ("getdate", "sysdate", "utc_timestamp", "now64", "systimestamp"),
        "current_date": ("curdate", "today", "utc_date"),
        "extract(year FROM t)": ("year", "toyear"),
        "extract(month FROM t)": ("month", "tomonth"),
        "extract(day FROM t)": ("day", "dayofmonth", "todayofmonth"),
        "extract(dow FROM t)": ("dayofweek", "weekday", "todayofweek", "day_of_week"),
        "extract(hour FROM t)": ("hour", "tohour", "date_hour"),
        "extract(minute FROM t)": ("minute", "tominute"),
        "count(*) FILTER (WHERE x > 1)": ("countif", "count_if"),
        "sum(x) FILTER (WHERE x > 1)": ("sumif", "sum_if"),
        "avg(x) FILTER (WHERE x > 1)": ("avgif", "avg_if"),
        "min(x) FILTER (WHERE x > 1)": ("minif", "min_if"),
        "max(x) FILTER (WHERE x > 1)": ("maxif", "max_if"),
        "count(DISTINCT x)": ("uniq", "uniqexact", "dc", "distinct_count", "count_distinct", "dcount", "distinctcount"),
        "approx_count_distinct(x)": ("approx_distinct", "uniqcombined", "uniqhll12", "hll", "ndv"),
        "(array_agg(x ORDER BY t DESC))[1]": (
            "argmax",
            "arg_max",
            "max_by",
            "latest",
            "last",
            "anylast",
            "last_over_time",
        ),
        "(array_agg(x ORDER BY t))[1]": ("argmin", "arg_min", "min_by", "earliest", "first", "first_over_time"),
        "coalesce(x, 0)": ("ifnull", "nvl", "zeroifnull"),
        "CASE WHEN x > 1 THEN 'yes' ELSE 'no' END": ("if", "iff", "iif", "multiif"),
        "j ->> 'member'": (
            *("json_extract", "json_extract_string", "json_extract_scalar", "jsonextractstring", "get_json_object"),
            *("json_get_str", "json_get", "jsonextract", "jsonextractraw", "parse_json", "json_as_text"),
        ),
        "(j ->> 'member')::bigint": ("jsonextractint", "json_get_int", "jsonextractuint"),
        "string_agg(text, ', ')": ("group_concat", "listagg", "groupconcat"),
        "array_agg(x)": ("collect_list", "grouparray", "list", "make_list"),
        "array_agg(DISTINCT x)": ("collect_set", "groupuniqarray", "make_set", "values"),
        "unnest(tags)": ("explode", "flatten", "arrayjoin", "mv_expand"),
        "cardinality(tags)": ("array_size", "arraylength", "list_length", "array_len"),
        "'a' = ANY (tags)": ("array_contains", "arraycontains", "has", "list_contains", "array_has"),
        "x::text": ("tostring", "to_string", "str", "string"),
        "text::bigint": ("toint64", "toint32", "to_bigint", "to_int", "toint", "int64"),
        "text::double precision": ("tofloat64", "tofloat", "todouble", "to_double", "float64"),
        "t::date": ("todate", "to_date_day"),
        "trunc(x)": ("truncate", "fix"),
    }
)
_INSTEAD: Final = {name: expression for expression, names in _WRITE.items() for name in names}

TIME_ARGUMENTS: Final = MappingProxyType({"date_trunc": 1, "date_bin": 1, "date_part": 1, "extract": 1, "to_char": 0})
"""Functions of times, which a column of text is easily handed to: which argument is the time."""


def instead_of_function(name: str) -> str | None:
    """What says here what a function of another product says; None for one that is not known.

    >>> instead_of_function("countif")
    'write count(*) FILTER (WHERE x > 1)'
    """
    expression = _INSTEAD.get(name)
    return None if expression is None else f"write {expression}"


def instead_of_command(word: str) -> str | None:
    """What to do instead of a statement of another database or of psql; None for a word that begins none."""
    return _COMMANDS_ELSEWHERE.get(word.upper())


_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def instead_of_duration(number: str, unit: str) -> str | None:
    """What to write for a number with a unit close behind it, as in `1h`; None for another word.

    >>> instead_of_duration("5", "m")
    "write interval '5 minutes'"
    """
    return f"write interval '{number} {_UNITS[unit]}'" if unit in _UNITS else None


def examples() -> tuple[str, ...]:
    """Every expression that a hint says to write."""
    return tuple(_WRITE)
