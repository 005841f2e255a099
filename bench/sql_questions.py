"""What dashboards and log analysts ask, twice: as SQL, and as an engineer would write it in Polars."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl
from polars import col

COUNT: Final = pl.len().cast(pl.Int64)
"""SQL counts in 64 bits, so that the answer has one type however many rows there are."""

START: Final = dt.datetime(2024, 12, 30, tzinfo=dt.UTC)
Frames = dict[str, pl.LazyFrame]


@dataclass(frozen=True)
class Question:
    """The same question in both languages. `duckdb`: the SQL for DuckDB where it is not PostgreSQL's."""

    name: str
    sql: str
    polars: Callable[[Frames], pl.LazyFrame]
    duckdb: str | None = None


def _at(hours: float) -> dt.datetime:
    return START + dt.timedelta(hours=hours)


def _between(start_hours: float, end_hours: float) -> pl.Expr:
    return (col("p_timestamp") >= _at(start_hours)) & (col("p_timestamp") < _at(end_hours))


def _ratio(part: pl.Expr) -> pl.Expr:
    return part.cast(pl.Int64).sum() * 100.0 / pl.len()


def _how_many(part: pl.Expr) -> pl.Expr:
    return part.sum().cast(pl.Int64)


HOUR: Final = "p_timestamp >= '2024-12-30T05:00:00Z' AND p_timestamp < '2024-12-30T06:00:00Z'"
QUESTIONS: Final = (
    Question("count", "SELECT count(*) FROM logs", lambda f: f["logs"].select(count=COUNT)),
    Question(
        "count of an hour",
        f"SELECT count(*) FROM logs WHERE {HOUR}",
        lambda f: f["logs"].filter(_between(5, 6)).select(count=COUNT),
    ),
    Question(
        "events per hour",
        "SELECT date_trunc('hour', p_timestamp) AS h, count(*) AS n FROM logs GROUP BY 1 ORDER BY 1",
        lambda f: f["logs"].group_by(h=col("p_timestamp").dt.truncate("1h")).agg(n=COUNT).sort("h"),
    ),
    Question(
        "events per level",
        "SELECT level, count(*) AS n FROM logs GROUP BY level ORDER BY n DESC",
        lambda f: f["logs"].group_by("level").agg(n=COUNT).sort("n", descending=True),
    ),
    Question(
        "errors per hour and service",
        "SELECT date_trunc('hour', p_timestamp) AS h, service, count(*) AS n FROM logs WHERE level = 'ERROR' "
        "GROUP BY 1, 2 ORDER BY 1, 2",
        lambda f: (
            f["logs"]
            .filter(col("level") == "ERROR")
            .group_by(h=col("p_timestamp").dt.truncate("1h"), service="service")
            .agg(n=COUNT)
            .sort("h", "service")
        ),
    ),
    Question(
        "error rate per service",
        "SELECT service, count(*) AS n, 100.0 * count(*) FILTER (WHERE status >= 500) / count(*) AS pct FROM logs "
        "GROUP BY service ORDER BY pct DESC",
        lambda f: (
            f["logs"].group_by("service").agg(n=COUNT, pct=_ratio(col("status") >= 500)).sort("pct", descending=True)
        ),
    ),
    Question(
        "mean and extremes of latency",
        "SELECT service, avg(latency) AS a, min(latency) AS lo, max(latency) AS hi, sum(bytes) AS b FROM logs GROUP "
        "BY service",
        lambda f: (
            f["logs"]
            .group_by("service")
            .agg(a=col("latency").mean(), lo=col("latency").min(), hi=col("latency").max(), b=col("bytes").sum())
        ),
    ),
    Question(
        "percentiles per service",
        "SELECT service, percentile_cont(0.5) WITHIN GROUP (ORDER BY latency) AS p50, "
        "percentile_cont(0.99) WITHIN GROUP (ORDER BY latency) AS p99 FROM logs GROUP BY service",
        lambda f: (
            f["logs"]
            .group_by("service")
            .agg(p50=col("latency").quantile(0.5, "linear"), p99=col("latency").quantile(0.99, "linear"))
        ),
    ),
    Question(
        "distinct users per day",
        "SELECT date_trunc('day', p_timestamp) AS d, count(DISTINCT user_id) AS n FROM logs GROUP BY 1 ORDER BY 1",
        lambda f: (
            f["logs"]
            .group_by(d=col("p_timestamp").dt.truncate("1d"))
            .agg(n=col("user_id").drop_nulls().n_unique().cast(pl.Int64))
            .sort("d")
        ),
    ),
    Question(
        "ten busiest hosts",
        "SELECT host, count(*) AS n FROM logs GROUP BY host ORDER BY n DESC, host LIMIT 10",
        lambda f: f["logs"].group_by("host").agg(n=COUNT).sort(["n", "host"], descending=[True, False]).limit(10),
    ),
    Question(
        "ten busiest users",
        "SELECT user_id, count(*) AS n, sum(bytes) AS b FROM logs WHERE user_id IS NOT NULL GROUP BY user_id "
        "ORDER BY b DESC, user_id LIMIT 10",
        lambda f: (
            f["logs"]
            .filter(col("user_id").is_not_null())
            .group_by("user_id")
            .agg(n=COUNT, b=col("bytes").sum())
            .sort(["b", "user_id"], descending=[True, False])
            .limit(10)
        ),
    ),
    Question(
        "newest hundred errors",
        "SELECT p_timestamp, service, message FROM logs WHERE level = 'ERROR' ORDER BY p_timestamp DESC LIMIT 100",
        lambda f: (
            f["logs"]
            .filter(col("level") == "ERROR")
            .select("p_timestamp", "service", "message")
            .sort("p_timestamp", descending=True)
            .limit(100)
        ),
    ),
    Question(
        "text search",
        "SELECT count(*) AS n FROM logs WHERE message LIKE '%timeout%'",
        lambda f: f["logs"].filter(col("message").str.contains("timeout", literal=True)).select(n=COUNT),
    ),
    Question(
        "text search without case",
        "SELECT count(*) AS n FROM logs WHERE message ILIKE '%payment%failed%'",
        lambda f: f["logs"].filter(col("message").str.contains(r"(?is)payment.*failed")).select(n=COUNT),
    ),
    Question(
        "regular expression",
        "SELECT count(*) AS n FROM logs WHERE message ~ 'took [0-9]+ms$'",
        lambda f: f["logs"].filter(col("message").str.contains(r"took [0-9]+ms$")).select(n=COUNT),
    ),
    Question(
        "number out of a message",
        "SELECT avg(substring(message from 'took ([0-9]+)ms')::int) AS ms FROM logs WHERE message LIKE 'GET %'",
        lambda f: (
            f["logs"]
            .filter(col("message").str.starts_with("GET "))
            .select(ms=col("message").str.extract(r"took ([0-9]+)ms", 1).cast(pl.Int32).mean())
        ),
        duckdb="SELECT avg(regexp_extract(message, 'took ([0-9]+)ms', 1)::int) AS ms FROM logs WHERE message LIKE "
        "'GET %'",
    ),
    Question(
        "patterns of messages",
        "SELECT regexp_replace(message, '[0-9]+', '#', 'g') AS m, count(*) AS n FROM logs WHERE level = 'ERROR' "
        "GROUP BY 1 ORDER BY n DESC, m LIMIT 20",
        lambda f: (
            f["logs"]
            .filter(col("level") == "ERROR")
            .group_by(m=col("message").str.replace_all(r"[0-9]+", "#"))
            .agg(n=COUNT)
            .sort(["n", "m"], descending=[True, False])
            .limit(20)
        ),
    ),
    Question(
        "histogram of latency",
        "SELECT floor(latency / 50) * 50 AS bin, count(*) AS n FROM logs WHERE latency IS NOT NULL GROUP BY 1 ORDER "
        "BY 1",
        lambda f: (
            f["logs"]
            .filter(col("latency").is_not_null())
            .group_by(bin=(col("latency") / 50).floor() * 50)
            .agg(n=COUNT)
            .sort("bin")
        ),
    ),
    Question(
        "status classes per service",
        "SELECT service, count(*) FILTER (WHERE status < 300) AS ok, count(*) FILTER (WHERE status BETWEEN 400 AND "
        "499) "
        "AS client, count(*) FILTER (WHERE status >= 500) AS server FROM logs GROUP BY service",
        lambda f: (
            f["logs"]
            .group_by("service")
            .agg(
                ok=_how_many(col("status") < 300),
                client=_how_many(col("status").is_between(400, 499)),
                server=_how_many(col("status") >= 500),
            )
        ),
    ),
    Question(
        "case expression",
        "SELECT CASE WHEN status < 300 THEN 'ok' WHEN status < 500 THEN 'client' ELSE 'server' END AS class, "
        "count(*) AS n FROM logs GROUP BY 1",
        lambda f: (
            f["logs"]
            .group_by(
                **{
                    "class": pl.when(col("status") < 300)
                    .then(pl.lit("ok"))
                    .when(col("status") < 500)
                    .then(pl.lit("client"))
                    .otherwise(pl.lit("server"))
                }
            )
            .agg(n=COUNT)
        ),
    ),
    Question(
        "join with a dimension",
        "SELECT s.team, count(*) AS n, avg(l.latency) AS a FROM logs l JOIN services s ON s.service = l.service "
        "GROUP BY s.team",
        lambda f: f["logs"].join(f["services"], on="service").group_by("team").agg(n=COUNT, a=col("latency").mean()),
    ),
    Question(
        "services without an owner",
        "SELECT l.service, count(*) AS n FROM logs l WHERE NOT EXISTS (SELECT 1 FROM services s WHERE s.service = "
        "l.service) "
        "GROUP BY l.service",
        lambda f: f["logs"].join(f["services"], on="service", how="anti").group_by("service").agg(n=COUNT),
    ),
    Question(
        "above the mean",
        "SELECT count(*) AS n FROM logs WHERE latency > (SELECT avg(latency) FROM logs)",
        lambda f: f["logs"].filter(col("latency") > col("latency").mean()).select(n=COUNT),
    ),
    Question(
        "latest of each host",
        "SELECT DISTINCT ON (host) host, p_timestamp, status FROM logs ORDER BY host, p_timestamp DESC",
        lambda f: (
            f["logs"]
            .group_by("host")
            .agg(pl.all().sort_by("p_timestamp").last())
            .sort("host")
            .select("host", "p_timestamp", "status")
        ),
    ),
    Question(
        "two slowest of each service",
        "SELECT service, latency FROM (SELECT service, latency, row_number() OVER (PARTITION BY service ORDER BY "
        "latency "
        "DESC NULLS LAST) AS rn FROM logs) x WHERE rn <= 2 ORDER BY service, latency",
        lambda f: (
            f["logs"].group_by("service").agg(col("latency").top_k(2)).explode("latency").sort("service", "latency")
        ),
    ),
    Question(
        "share of each level",
        "SELECT level, count(*) AS n, 100.0 * count(*) / sum(count(*)) OVER () AS pct FROM logs GROUP BY level",
        lambda f: f["logs"].group_by("level").agg(n=COUNT).with_columns(pct=100.0 * col("n") / col("n").sum()),
    ),
    Question(
        "moving average",
        "SELECT h, avg(n) OVER (ORDER BY h ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) AS m FROM (SELECT "
        "date_trunc('minute', p_timestamp) AS h, count(*) AS n FROM logs GROUP BY 1) x ORDER BY h",
        lambda f: (
            f["logs"]
            .group_by(h=col("p_timestamp").dt.truncate("1m"))
            .agg(n=COUNT)
            .sort("h")
            .select("h", m=col("n").cast(pl.Float64).rolling_mean(6, min_samples=1))
        ),
    ),
    Question(
        "hours without gaps",
        "SELECT g.h, count(l.p_timestamp) AS n FROM generate_series(TIMESTAMPTZ '2024-12-29 00:00:00+00', "
        "TIMESTAMPTZ '2025-01-03 23:00:00+00', INTERVAL '1 hour') AS g(h) LEFT JOIN (SELECT p_timestamp, "
        "date_trunc('hour', p_timestamp) AS h FROM logs WHERE level = 'FATAL') l ON l.h = g.h GROUP BY g.h ORDER BY "
        "g.h",
        lambda f: (
            pl.LazyFrame({"h": pl.datetime_range(_at(-24), _at(119), "1h", eager=True, time_unit="us")})
            .join(
                f["logs"].filter(col("level") == "FATAL").group_by(h=col("p_timestamp").dt.truncate("1h")).agg(n=COUNT),
                on="h",
                how="left",
            )
            .with_columns(col("n").fill_null(0))
            .sort("h")
        ),
        duckdb="SELECT g.h, count(l.p_timestamp) AS n FROM (SELECT unnest(generate_series(TIMESTAMPTZ "
        "'2024-12-29 00:00:00+00', TIMESTAMPTZ '2025-01-03 23:00:00+00', INTERVAL '1 hour')) AS h) g LEFT JOIN (SELECT "
        "p_timestamp, date_trunc('hour', p_timestamp) AS h FROM logs WHERE level = 'FATAL') l ON l.h = g.h GROUP BY "
        "g.h "
        "ORDER BY g.h",
    ),
    Question(
        "attribute out of JSON",
        "SELECT attributes ->> 'route' AS route, count(*) AS n FROM logs WHERE p_timestamp < '2024-12-29T12:00:00Z' "
        "GROUP BY 1",
        lambda f: (
            f["logs"]
            .filter(col("p_timestamp") < _at(-12))
            .group_by(route=col("attributes").str.json_path_match("$.route"))
            .agg(n=COUNT)
        ),
    ),
    Question(
        "rollup",
        "SELECT service, level, count(*) AS n FROM logs GROUP BY ROLLUP (service, level)",
        lambda f: pl.concat(
            [
                f["logs"].group_by("service", "level").agg(n=COUNT),
                f["logs"].group_by("service").agg(n=COUNT),
                f["logs"].select(n=COUNT),
            ],
            how="diagonal",
        ),
    ),
    Question(
        "union of two questions",
        "SELECT 'slow' AS what, count(*) AS n FROM logs WHERE latency > 500 UNION ALL "
        "SELECT 'failed', count(*) FROM logs WHERE status >= 500",
        lambda f: pl.concat(
            [
                f["logs"].filter(col("latency") > 500).select(what=pl.lit("slow"), n=COUNT),
                f["logs"].filter(col("status") >= 500).select(what=pl.lit("failed"), n=COUNT),
            ]
        ),
    ),
    Question(
        "distinct pairs",
        "SELECT DISTINCT service, region FROM logs ORDER BY 1, 2",
        lambda f: f["logs"].select("service", "region").unique().sort("service", "region", nulls_last=True),
    ),
    Question(
        "busy hours only",
        "WITH h AS (SELECT date_trunc('hour', p_timestamp) AS h, count(*) AS n, avg(latency) AS a FROM logs GROUP BY "
        "1) "
        "SELECT h, n, a FROM h WHERE n > (SELECT avg(n) FROM h) ORDER BY n DESC, h LIMIT 20",
        lambda f: (
            f["logs"]
            .group_by(h=col("p_timestamp").dt.truncate("1h"))
            .agg(n=COUNT, a=col("latency").mean())
            .filter(col("n") > col("n").mean())
            .sort(["n", "h"], descending=[True, False])
            .limit(20)
        ),
    ),
    Question(
        "arithmetic over every row",
        "SELECT sum(bytes * 8 / 1000) AS kbit, sum(latency * 2 + 1) AS x, max(length(message)) AS l FROM logs",
        lambda f: f["logs"].select(
            kbit=(col("bytes") * 8 // 1000).sum(),
            x=(col("latency") * 2 + 1).sum(),
            l=col("message").str.len_chars().max().cast(pl.Int32),
        ),
        duckdb="SELECT sum(bytes * 8 // 1000) AS kbit, sum(latency * 2 + 1) AS x, max(length(message)) AS l FROM logs",
    ),
    Question(
        "a page of an hour",
        f"SELECT * FROM logs WHERE {HOUR} AND service = 'cart' ORDER BY p_timestamp DESC LIMIT 50",
        lambda f: (
            f["logs"].filter(_between(5, 6) & (col("service") == "cart")).sort("p_timestamp", descending=True).limit(50)
        ),
    ),
)
