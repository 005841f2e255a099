"""The values at which the types part, and the constants that some functions take: data of the registry's test."""

from collections.abc import Mapping
from typing import Final

EDGES: Final[Mapping[str, tuple[str, ...]]] = {
    "bool": ("true", "false"),
    "int2": ("0", "1", "-1", "7", "32767", "-32768"),
    "int4": ("0", "1", "-1", "2", "-3", "12", "2147483647", "-2147483648"),
    "int8": ("0", "1", "-1", "3", "-7", "4294967296", "9223372036854775807", "-9223372036854775808"),
    "numeric": (
        "0", "0.00", "1", "-1", "1.5", "-2.5", "0.5", "10", "100.50", "123456789.123456789", "0.0000000001", "-0.001",
        "99999999999999999999",
    ),
    "float4": ("0", "-0", "1.5", "-2.5", "1e-38", "3e38", "1e-45", "16777217", "NaN", "Infinity", "-Infinity"),
    "float8": (
        "0", "-0", "1", "-1", "0.5", "1.5", "2.5", "-2.5", "1e-300", "-1e300", "1.7976931348623157e308", "5e-324",
        "2.2250738585072014e-308", "123456.789", "-0.001", "1e15", "710", "-746", "NaN", "Infinity", "-Infinity",
    ),
    "text": (
        "", " ", "a", "abc", "ABC abc", "aXbXc", "é", "e\u0301x", "🙂👍🏽", "ß", "İ", "ŉ", "a,b,,c", "a%b_c",
        "back\\slash",
        "tab\tnew\nline", "it''s", "123", " 42 ", "\u00a0x\u3000", "null",
    ),
    "bpchar": ("", "a", "ab "),
    "bytea": ("", "\\x00ff", "\\x616263", "\\x" + "ab" * 60),
    "date": ("1970-01-01", "1969-12-31", "2024-02-29", "2023-12-31", "1900-02-28", "0001-01-01", "9999-12-31"),
    "time": ("00:00", "12:34:56.789", "23:59:59.999999"),
    "timestamp": (
        "1970-01-01", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56.789", "2024-03-10 02:30", "2024-03-31 02:30",
        "2024-10-27 02:30", "2023-12-31 23:59:59", "2025-01-31 00:00:00.5", "0001-01-01", "9999-12-31 23:59:59.999999",
    ),
    "timestamptz": (
        "1970-01-01Z", "1969-12-31 23:59:59.999999Z", "2024-02-29 12:34:56.789Z", "2024-03-10 07:30Z",
        "2024-11-03 06:30Z", "2024-10-27 00:30Z", "2023-12-31 23:59:59Z", "2025-01-31 00:00:00.5Z", "0001-01-02Z",
        "9999-12-30 23:59:59Z",
    ),
    "interval": (
        "0", "1 day", "-1 day", "1 mon", "1 year 2 mons 3 days 04:05:06.789", "-1 mon +1 day", "25:00:00",
        "-00:00:00.000001", "100 years", "40 days -30:00", "-13 mons -40 days -90:00:00.5",
    ),
    "json": (
        '{"a": 1, "b": [1, 2.50, null]}', ' [ 1 , "x" ,{"a":2}] ', '"é"', "null", "-0", "1e3", "true", "[]", "{}",
        '{"a":1,"a":2}', '{"a":{"b":"c"},"": null}',
    ),
    "inet": ("10.0.0.1", "10.1.2.3/16", "::1", "2001:db8::1/32", "0.0.0.0/0", "255.255.255.255", "::ffff:1.2.3.4"),
    "cidr": ("10.0.0.0/8", "10.1.0.0/16", "192.168.1.0/24"),
    "uuid": ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"),
    "tsquery": (
        "a", "!a", "a & b", "a | !b", "a <-> b", "''Hello'' <2> world", "te:*", "x:A", "", "10.0.0.1", "''a b''",
    ),
    "jsonpath": (
        "$", "$.a", "$.*", "$[*]", "$.**", "$.b[1]", "$ ? (@ > 1)", "$.a == 1", "strict $.b", "strict $[*]",
        "$[*].size()",
        "$.*.type()", "$[*] ? (@ like_regex \"^a\")", "-$[0]", "$.a + 1", "exists($.bb)",
    ),
    "jsonb": (
        '{"a": 1, "b": [1, 2.50, null]}', '[1, "x", {"a": 2}]', '"é"', "null", "-0.0", "1e3", "true", "[]", "{}",
        '{"a": {"b": "c"}, "": null, "bb": -1.10}', '[[1, 2], [3]]', '"a"', '["a", "b", "a"]', "[null]",
    ),
    "text[]": ("{}", "{a}", "{a,b}", "{b,c,0}", "{a,NULL}", "{NULL}", '{"x y","",NULL,é}', "{-1}", "{0}"),
    "int4[]": ("{}", "{1}", "{3,1,2,1}", "{NULL,1}", "{NULL}", "{2147483647,-2147483648}"),
    "int8[]": ("{}", "{1}", "{3,1,2,1}", "{NULL,1}", "{NULL}"),
    "float8[]": ("{}", "{0,-0}", "{NaN,1.5}", "{NULL,Infinity}"),
    "bool[]": ("{}", "{t,f}", "{NULL,t}"),
    "interval[]": ("{}", "{1 mon,30 days}", "{NULL,24:00:00}"),
    "timestamp[]": ("{}", "{2024-02-29,NULL}", "{1970-01-01,2024-02-29 12:34:56.789}"),
}  # fmt: skip
"""Without NULL, which every list is tried with."""

ELEMENTS: Final = ("int4", "text", "float8", "bool", "interval", "timestamp")
"""What anyelement stands for, one after the other."""

ANYTHING: Final = ("int4", "text", "float8", "bool", "numeric", "date", "timestamp", "timestamptz", "interval", "jsonb")
"""What `any` stands for."""

_FIELDS: Final = (
    "microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade",
    "century", "millennium",
)  # fmt: skip
_PARTS: Final = (*_FIELDS, "epoch", "dow", "isodow", "doy", "isoyear", "julian", "timezone", "timezone_hour")
_ZONES: Final = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "CET", "UTC+3", "nowhere")
_PATTERNS: Final = (
    "a", "[a-c]+", "^.", "(b)|(c)", "", "x*", r"\d+", r"\s", "[[:alpha:]]", "(", r"\mabc", "é", "a|ab", ".$", "(?i)ABC",
    r"(.)\1", "[^a-z]",
)  # fmt: skip
_LIKES: Final = ("%", "", "a%", "%b%", "_", "__", "a\\%b%", "%\\", "é%", "%\n%", "A%")
_TIMES: Final = (
    "YYYY-MM-DD HH24:MI:SS.US", "FMDay, DD FMMonth YYYY", "DY Mon MON mon", "HH12:MI:SS AM", "Q WW IW IYYY ID", "J DDD",
    "CC YY Y,YYY YYY Y", "DDth FMDDth", "MS", "\"quoted\" YYYY", "SSSS", "month", "MONTH ", "RM rm", "TZ OF",
    "FMHH:FMMI", "W D", "a.m. P.M.", "BC ad", "FF3", "yyyy",
)  # fmt: skip
_NUMBERS: Final = (
    "999", "FM999", "000", "9,999", "99.99", "FM99.99", "FM00.009", "0.9", "9", "FM9,999.00", "999.00%", "999G999",
    "99D9", "FM9999999999.99", "S999", "999MI", "999PR", "RN", "9.99EEEE", "L99", "SG99", "99th", "PL99", "9V9",
)  # fmt: skip
CONSTANTS: Final[Mapping[tuple[str, int], tuple[str, ...]]] = {
    ("extract", 0): _PARTS, ("date_part", 0): _PARTS, ("date_trunc", 0): (*_FIELDS, "nothing", "HOUR"),
    ("date_trunc", 2): _ZONES, ("timezone", 0): _ZONES,
    ("make_timestamptz", 6): _ZONES[:-1],
    ("date_bin", 0): ("15 minutes", "1 day", "0.000001 s", "7 days 1 hour", "1 month", "0", "-1 hour"),
    ("generate_series", 2): ("1 day", "36:00", "0", "-1 day", "1 mon"),
    ("encode", 1): ("hex", "base64", "escape", "nothing"), ("decode", 1): ("hex", "base64", "escape"),
    ("convert_from", 1): ("UTF8", "utf-8", "LATIN1"), ("convert_to", 1): ("UTF8", "LATIN1"),
    ("normalize", 1): ("NFC", "NFD", "NFKC", "NFKD"), ("is_normalized", 1): ("NFC", "NFD"),
    ("format", 0): (
        "%s", "%I", "%L", "plain", "%%", "%s and %s", "%2$s %1$s", "%1$s %s", "%5s|", "%-5s|", "%", "%x", "%*s", "%3$s",
    ),
    ("array_fill", 1): ("{2}", "{0}", "{NULL}"), ("round", 1): ("0", "2", "-1", "12"), ("trunc", 1): ("0", "2", "-1"),
    ("array_length", 1): ("1", "2", "0", "-1"), ("array_upper", 1): ("1", "2"), ("array_lower", 1): ("1", "2"),
    ("generate_subscripts", 1): ("1", "2"),
    ("~~", 1): _LIKES, ("~~*", 1): _LIKES, ("~~", 2): ("\\", "", "a"), ("~~*", 2): ("\\",), ("like", 2): ("\\", ""),
    ("ilike", 2): ("\\",), ("similar to", 1): ("%", "a%", "(a|b)%", "[a-c]+", "_", "a{1,2}%", "a|abc", ""),
    ("similar to", 2): ("\\",),
    ("regexp_replace", 2): ("", "<\\1>", "[\\&]", "x\\\\y", "$1"),
    ("regexp_replace", 3): ("g", "i", "gi", "n", "z"), ("regexp_replace", 5): ("i", "", "g"),
    ("regexp_match", 2): ("i", "g", "x", ""), ("regexp_matches", 2): ("g", "i", ""),
    ("regexp_like", 2): ("i", "g", "n"),
    ("regexp_count", 3): ("i", ""), ("regexp_substr", 4): ("i", ""), ("regexp_instr", 5): ("i", ""),
    **{(name, 1): _PATTERNS for name in (
        "~", "~*", "regexp_like", "substring", "regexp_replace", "regexp_match", "regexp_matches", "regexp_count",
        "regexp_split_to_array", "regexp_substr", "regexp_instr",
    )},
}  # fmt: skip
"""What stands at a constant argument of a function by name and place; others take the edges of their type."""

SERIES: Final = ("0", "1", "-1", "5", "-3", None)
SERIES_TIMES: Final = ("2024-01-31", "2024-02-29 12:00", "2024-03-10 07:30", "2023-12-31 23:59:59.5", None)
"""Ends and steps of series, far apart only in the corpora."""

PARTS: Final[Mapping[str, tuple[str | None, ...]]] = {
    "int4": ("1", "2", "12", "0", "-1", "29", "31", "4", "13", "2024", "60", "24", "2147483647", None),
    "float8": ("0", "59.9999999", "60", "1.5", "-1", "NaN", "Infinity", "1e300", None),
}
"""What dates, times and intervals are made of."""

TIME_TEMPLATES: Final = _TIMES
NUMBER_TEMPLATES: Final = _NUMBERS
READ: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "to_timestamp": (
        ("2024-02-29 13:14:15", "YYYY-MM-DD HH24:MI:SS"), ("2024-02-30", "YYYY-MM-DD"), ("20240229", "YYYYMMDD"),
        ("24-2-9", "YY-MM-DD"), ("29 Feb 2024", "DD Mon YYYY"), ("29 feb 2024", "DD MON YYYY"),
        ("2024-02-29 01:05:06.123456 PM", "YYYY-MM-DD HH12:MI:SS.US AM"), ("2024 366", "YYYY DDD"), ("", "YYYY"),
        ("x", "YYYY"), ("2024", "YYYY"), ("12:60", "HH24:MI"), ("25:00", "HH24:MI"), ("13", "HH12"),
        ("2024/02/29", "YYYY-MM-DD"), ("  2024-02-29", "YYYY-MM-DD"), ("2024-02-29 extra", "YYYY-MM-DD"),
        ("1.5", "SS.MS"), ("12.345", "SS.MS"), ("February 29, 2024", "Month DD, YYYY"), ("0000-01-01", "YYYY-MM-DD"),
        ("-44-03-15", "YYYY-MM-DD"), ("2024-13-01", "YYYY-MM-DD"), ("99", "YY"), ("69", "YY"), ("70", "YY"),
        ("2024-1", "YYYY-MM"), ("2024-00-10", "YYYY-MM-DD"), ("2024T", "YYYY\"T\""), ("2024-02-29Z", "YYYY-MM-DD\"Z\""),
        ("05 Dec 2000", "DD Mon YYYY"), ("2000JUN", "YYYY MON"), ("2000    JUN", "YYYY MON"), ("12345", "YYYYMM"),
        ("2024-02-29 12", "YYYY-MM-DD HH24:MI"), ("1 2 3", "YYYY MM DD"), ("10000-01-01", "YYYY-MM-DD"),
    ),
}  # fmt: skip
