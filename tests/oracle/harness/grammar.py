"""The grammar of generated expressions: templates with typed holes, and the columns of the oracle's tables.

Every template is safe wherever it stands: it divides by `nullif(x, 0)`, multiplies by small constants, and gives the
same answer for the same rows in any order. What fails in PostgreSQL for some plans only would accuse the innocent.
"""

from collections.abc import Mapping
from typing import Final

CONSTANTS: Final[Mapping[str, str]] = {
    "int4": "1",
    "small": "2",
    "int8": "2::int8",
    "numeric": "1.5",
    "float8": "0.5::float8",
    "text": "'a'",
    "bool": "true",
    "timestamp": "TIMESTAMP '2024-12-30 10:00:00'",
    "timestamptz": "TIMESTAMPTZ '2024-12-30 10:00:00+00'",
    "date": "DATE '2024-12-31'",
    "interval": "INTERVAL '1 day'",
    "jsonb": "'{\"a\": 1}'::jsonb",
    "text[]": "ARRAY['a', 'b']",
    "int8[]": "ARRAY[1, 2]::int8[]",
}
LITERALS: Final[Mapping[str, tuple[str, ...]]] = {
    "int4": ("0", "1", "-1", "7", "42", "200", "NULL::int4"),
    "small": ("0", "1", "2", "3", "-2", "9"),
    "int8": ("0::int8", "5::int8", "1000000::int8", "NULL::int8"),
    "numeric": ("0.0", "1.5", "-2.25", "0.001", "100.50", "NULL::numeric"),
    "float8": ("0::float8", "0.5::float8", "-1.25::float8", "100::float8", "NULL::float8"),
    "text": ("''", "'a'", "'ERROR'", "'abc'", "'é🙂'", "' x '", "'50%'", "NULL::text"),
    "bool": ("true", "false", "NULL::bool"),
    "timestamp": ("TIMESTAMP '2024-12-30 10:11:12.5'", "TIMESTAMP '2024-02-29'", "NULL::timestamp"),
    "timestamptz": ("TIMESTAMPTZ '2024-12-31 23:59:59+00'", "TIMESTAMPTZ '2024-12-30 00:00:00-05'"),
    "date": ("DATE '2024-12-31'", "DATE '2024-02-29'", "NULL::date"),
    "interval": (
        "INTERVAL '1 day'",
        "INTERVAL '1 month 2 days'",
        "INTERVAL '-90 minutes'",
        "INTERVAL '1 hour 0.5 sec'",
    ),
    "jsonb": ('\'{"a": {"b": [1, null]}}\'::jsonb', "'[1, \"x\"]'::jsonb", "'null'::jsonb"),
    "text[]": ("ARRAY['a', NULL, 'b']", "'{}'::text[]", "NULL::text[]"),
    "int8[]": ("ARRAY[3, 1, 2]::int8[]", "'{}'::int8[]"),
}
ANY_TYPE: Final = (
    "CASE WHEN {bool} THEN {T} ELSE {T} END",
    "CASE WHEN {bool} THEN {T} WHEN {bool} THEN {T} END",
    "coalesce({T}, {T})",
    "nullif({T}, {T})",
)
ORDERED_TYPES: Final = ("int4", "int8", "numeric", "float8", "text", "timestamp", "timestamptz", "date", "interval")
TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "int4": (
        "({int4} + {int4})", "({int4} - {int4})", "({int4} * {small})", "({int4} / nullif({int4}, 0))",
        "({int4} % nullif({int4}, 0))", "(- {int4})", "abs({int4})", "length({text})", "octet_length({text})",
        "strpos({text}, {text})", "position({text} in {text})", "extract(year FROM {timestamp})::int4",
        "extract(isodow FROM {date})::int4", "extract(week FROM {timestamp})::int4", "({bool})::int4",
        "({date} - {date})", "({int4} & 12)", "({int4} | {small})", "({int4} # 5)", "(~ {int4})", "mod({int4}, 7)",
        "array_length({text[]}, 1)", "cardinality({int8[]})", "regexp_count({text}, '[a-m]')", "ascii({text})",
        "array_position({text[]}, {text})",
    ),
    "int8": (
        "({int8} + {int4})", "({int8} - {int8})", "({int8} / nullif({int8}, 0))", "({int8} % nullif({int8}, 0))",
        "abs({int8})", "({int4})::int8", "(extract(epoch FROM {timestamptz}))::int8", "({int8[]})[1]",
        "({int8[]})[{int4}]",
        "sign({int8})::int8",
    ),
    "numeric": (
        "({numeric} + {numeric})", "({numeric} - {int4})", "({numeric} * 1.5)", "round({numeric}, 2)",
        "round({numeric})",
        "trunc({numeric}, 1)", "ceil({numeric})", "floor({numeric})", "abs({numeric})", "({int4})::numeric",
        "({int4} / 2.0)", "({int4} / nullif({numeric}, 0))", "extract(epoch FROM {timestamp})",
        "extract(second FROM {timestamptz})", "mod({numeric}, 7)", "({int4})::numeric(12, 2)", "sign({numeric})",
        "extract(epoch FROM {interval})",
    ),
    "float8": (
        "({float8} + {float8})", "({float8} - {float8})", "({float8} * 0.5)", "({float8} / nullif({float8}, 0))",
        "abs({float8})", "floor({float8})", "ceil({float8})", "round({float8})", "sqrt(abs({int4}))",
        "ln(abs({int4}) + 1)",
        "({int4})::float8", "({numeric})::float8", "(- {float8})", "date_part('hour', {timestamp})", "sin({int4})",
        "power({small}, 2)", "degrees({int4})",
    ),
    "text": (
        "upper({text})", "lower({text})", "initcap({text})", "trim({text})", "ltrim({text}, 'ab ')", "reverse({text})",
        "({text} || {text})", "({text} || {int4})", "substr({text}, 2, 3)", "substring({text} from {small})",
        "left({text}, {small})", "right({text}, {small})", "replace({text}, 'a', {text})", "split_part({text}, ',', 1)",
        "lpad({text}, 8, '*')", "rpad({text}, 3)", "repeat({text}, 2)", "({int4})::text", "({bool})::text",
        "({numeric})::text", "({date})::text", "({timestamp})::text", "({timestamptz})::text", "({interval})::text",
        "concat({text}, {int4}, {bool})", "concat_ws('-', {text}, {text})", "md5({text})",
        "translate({text}, 'abc', 'xy')", "regexp_replace({text}, '[aeiou]', '_', 'g')",
        "to_char({timestamp}, 'YYYY-MM-DD HH24:MI:SS')", "substring({text} from '[a-z]+')", "({jsonb} ->> 'a')",
        "({jsonb} #>> '{{b,c,0}}')", "({text[]})[1]", "({text[]})[2]", "array_to_string({text[]}, '|', '?')",
        "format('%s=%s', {text}, {int4})", "quote_literal({text})", "overlay({text} placing 'ZZ' from 2)",
        "({jsonb})::text", "({text})::varchar(3)", "greatest({text}, {text})", "jsonb_typeof({jsonb})",
    ),
    "bool": (
        "({bool} AND {bool})", "({bool} OR {bool})", "(NOT {bool})", "({bool} IS TRUE)", "({bool} IS NOT FALSE)",
        "({bool} IS UNKNOWN)", "({text} LIKE '%a%')", "({text} ILIKE 'e%')", "({text} NOT LIKE '_b%')",
        "({text} ~ '^[a-z]+$')", "({text} ~* 'err|get')", "({text} !~ '[0-9]')", "({text} LIKE {text} || '%')",
        "({int4} IN (1, 7, {int4}))", "({text} NOT IN ('abc', 'INFO'))", "({int4} BETWEEN {int4} AND {int4})",
        "({timestamp} BETWEEN TIMESTAMP '2020-01-01' AND {timestamp})", "({text} = ANY ({text[]}))",
        "({int8} <> ALL ({int8[]}))", "({text[]} @> ARRAY['a'])", "({jsonb} ? 'a')", "({jsonb} @> '{{\"a\": 1}}')",
        "starts_with({text}, {text})", "({int8[]} && ARRAY[1, 3]::int8[])", "({int4} = {numeric})",
        "({int8} < {float8})",
        "({date} <= {timestamp})", "({timestamp} < {timestamptz})", "(({int4}, {text}) = ({int4}, {text}))",
        "({jsonb} = {jsonb})", "({bool} = {bool})", "({bool} IS DISTINCT FROM {bool})",
    ),
    "timestamp": (
        "({timestamp} + {interval})", "({timestamp} - {interval})", "date_trunc('hour', {timestamp})",
        "date_trunc('month', {timestamp})", "date_trunc('week', {timestamp})", "({date})::timestamp",
        "({date} + {interval})",
        "({timestamptz} AT TIME ZONE 'UTC')", "({timestamptz} AT TIME ZONE 'America/New_York')",
        "date_bin('15 minutes', {timestamp}, TIMESTAMP '2001-01-01')", "greatest({timestamp}, {timestamp})",
    ),
    "timestamptz": (
        "({timestamptz} + {interval})", "({timestamptz} - INTERVAL '36 hours')", "date_trunc('day', {timestamptz})",
        "({timestamp})::timestamptz", "({timestamp} AT TIME ZONE 'UTC')", "least({timestamptz}, {timestamptz})",
        "date_trunc('quarter', {timestamptz})",
    ),
    "date": ("({date} + {small})", "({date} - {small})", "({timestamp})::date", "({timestamptz})::date"),
    "interval": (
        "({timestamp} - {timestamp})", "({interval} + {interval})", "({interval} * {small})", "(- {interval})",
        "({timestamptz} - {timestamptz})", "age({timestamp}, {timestamp})", "justify_hours({interval})",
    ),
    "jsonb": (
        "({jsonb} -> 'a')", "({jsonb} -> 0)", "({jsonb} -> 'b' -> 'c')", "({jsonb} #> '{{a,b}}')", "to_jsonb({int4})",
        "to_jsonb({text})", "jsonb_build_object('k', {text}, 'n', {int4})", "jsonb_build_array({int4}, {text}, {bool})",
        "to_jsonb({text[]})",
    ),
    "text[]": (
        "string_to_array({text}, ',')", "ARRAY[{text}, {text}]", "array_append({text[]}, {text})",
        "({text[]} || {text[]})",
        "array_remove({text[]}, 'a')", "({text[]})[1:2]", "regexp_split_to_array({text}, '[ ,]')",
    ),
    "int8[]": ("ARRAY[{int8}, {int8}]", "({int8[]} || {int8})", "array_remove({int8[]}, 3)", "({int8[]})[2:3]"),
}  # fmt: skip
COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
AGGREGATES: Final[Mapping[str, tuple[str, ...]]] = {
    "int8": (
        "count(*)", "count({text})", "count({int4})", "count(DISTINCT {text})", "count(DISTINCT {int4})", "sum({int4})",
        "count(*) FILTER (WHERE {bool})", "sum({int4}) FILTER (WHERE {bool})", "max({int8})", "sum(DISTINCT {int4})",
    ),
    "numeric": (
        "sum({int8})", "avg({int4})", "sum({numeric})", "avg({int8})", "min({numeric})", "avg(DISTINCT {int4})",
    ),
    "float8": (
        "avg({float8})", "sum({float8})", "max({float8})", "stddev_pop({int4}::float8)",
        "percentile_cont(0.9) WITHIN GROUP (ORDER BY {float8})", "percentile_cont(0.5) WITHIN GROUP (ORDER BY {int4})",
    ),
    "int4": ("max({int4})", "min({int4})", "bit_or({int4})", "percentile_disc(0.5) WITHIN GROUP (ORDER BY {int4})"),
    "text": (
        "max({text})", "min({text})", "string_agg({text:a}, ',' ORDER BY {text:a})",
        "mode() WITHIN GROUP (ORDER BY {text})",
        "string_agg(DISTINCT {text:a}, '|' ORDER BY {text:a} DESC)",
    ),
    "bool": ("bool_and({bool})", "bool_or({bool})", "every({bool})"),
    "timestamp": ("max({timestamp})", "min({timestamp})"),
    "timestamptz": ("max({timestamptz})",),
    "date": ("min({date})",),
    "interval": ("sum({interval})", "max({interval})"),
    "text[]": ("array_agg({text:a} ORDER BY {text:a})", "array_agg(DISTINCT {text:a} ORDER BY {text:a} NULLS FIRST)"),
}  # fmt: skip
# Those whose answer does not depend on the order of peers. The holes of an ORDER BY take the windows' own keys.
WINDOWS: Final[Mapping[str, tuple[str, ...]]] = {
    "int8": (
        "rank() OVER (PARTITION BY {text} ORDER BY {int4})", "dense_rank() OVER (ORDER BY {text} DESC)",
        "count(*) OVER (PARTITION BY {bool})", "sum({int4}) OVER (ORDER BY {date} NULLS FIRST)",
        "row_number() OVER (PARTITION BY {text} ORDER BY {key})", "count({text}) OVER (ORDER BY {int4} DESC)",
        "sum({int4}) OVER (ORDER BY {key} ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
        "sum({int4}) OVER (PARTITION BY {bool} ORDER BY {key} DESC)",
        "count(*) FILTER (WHERE {bool}) OVER (ORDER BY {key})",
        "count(*) OVER (ORDER BY {int4} RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING)",
    ),
    "text": (
        "lag({text}) OVER (ORDER BY {key})", "lead({text}, 2, 'none') OVER (PARTITION BY {bool} ORDER BY {key})",
        "first_value({text}) OVER (PARTITION BY {text} ORDER BY {key})", "max({text}) OVER (ORDER BY {int4})",
        "last_value({text}) OVER (ORDER BY {key} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
        "nth_value({text}, 2) OVER (ORDER BY {key})",
    ),
    "float8": (
        "avg({float8}) OVER (PARTITION BY {text})", "percent_rank() OVER (ORDER BY {int4})",
        "cume_dist() OVER (PARTITION BY {bool} ORDER BY {text})",
        "min({float8}) OVER (ORDER BY {key} ROWS 3 PRECEDING)",
    ),
    "numeric": ("avg({int4}) OVER (ORDER BY {key} ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)", "sum({numeric}) OVER ()"),
    "int4": ("ntile(4) OVER (ORDER BY {key})", "min({int4}) OVER (PARTITION BY {text} ORDER BY {text})"),
    "bool": ("bool_or({bool}) OVER (ORDER BY {key})",),
    "timestamp": ("lag({timestamp}) OVER (ORDER BY {key})", "max({timestamp}) OVER (PARTITION BY {text})"),
}  # fmt: skip
# Frames of windows that are ordered by a key, so that every row is its own peer group.
FRAMES: Final = (
    "", "", "ROWS 2 PRECEDING", "GROUPS 1 PRECEDING", "RANGE UNBOUNDED PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
    "ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE TIES", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
)  # fmt: skip
GROUPINGS: Final = (
    "{}", "{}", "{}", "{}", "ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), (1), ())", "1, ROLLUP ({})", "({})",
    "DISTINCT ROLLUP ({}), CUBE (1)", "GROUPING SETS (ROLLUP ({}), (1))", "ALL {}",
    "GROUPING SETS (({})), GROUPING SETS ((1), ())",
)  # fmt: skip
# Overflow, division by zero, bad text: computed at the top of a select list over whole tables only.
RISKY: Final = (
    "({int4} * 50000000)", "({int4} / {int4})", "({int4} % {int4})", "({int8} * 10000000000000)",
    "({int4} + 2147483600)", "({int4})::int2", "({text})::int4", "({text})::numeric", "({text})::float8",
    "({text})::date", "({text})::bool", "({numeric})::int4", "({float8})::int4", "({numeric} / {int4})",
    "({float8} / {float8})", "sqrt({float8})", "ln({float8})", "power({float8}, {int4})", "exp({int4})",
    "chr({int4})", "substring({text} from 1 for {int4})", "({jsonb} ->> 'a')::int4", "jsonb_array_length({jsonb})",
    "mod({int8}, {int4})", "({int4})::text::int2", "split_part({text}, 'a', {int4})", "({date} + {int4} * 1000000)",
    "make_date(2024, {int4}, 1)", "log({numeric})", "({numeric})::numeric(4, 2)",
    "width_bucket({int4}, 0, 10, {int4})", "({text})::timestamp", "({text})::jsonb",
)  # fmt: skip
