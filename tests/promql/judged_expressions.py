"""Expressions that Weir and a real Prometheus are both asked: templates over metrics, functions and modifiers."""

from collections.abc import Iterator

COUNTER, GAUGE, NATIVE, CUSTOM = "http_requests_total", "memory_bytes", "duration_seconds", "size_bytes"
_OVER_TIME = "sum avg min max count last present stddev stdvar".split()
_ELEMENTWISE = """abs ceil floor exp sqrt ln log2 log10 sgn sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
    rad deg""".split()
_DATES = "minute hour day_of_week day_of_month day_of_year days_in_month month year".split()
_AGGREGATIONS = "sum avg min max count group stddev stdvar".split()
_ARITHMETIC = "+ - * / % ^ atan2".split()
_COMPARISONS = "== != > < >= <=".split()


def expressions() -> list[str]:
    """At least 600, each once."""
    makers = (_selectors, _ranges, _elementwise, _aggregations, _binaries, _histograms, _subqueries, _labels, _special)
    return list(dict.fromkeys(each for make in makers for each in make()))


def _selectors() -> Iterator[str]:
    metrics = (COUNTER, GAUGE, NATIVE, CUSTOM, "up", "sparse", "steady", "single", "latency_seconds_bucket")
    for metric in metrics:
        yield metric
        yield f"{metric} offset 7m"
        yield f"{metric} offset -3m"
        yield f"{metric} @ end() offset 11m"
        yield f"{metric} @ start()"
        yield f"timestamp({metric})"
    matchers = ('code="200"', 'code!="200"', 'code=~"4.*|500"', 'code!~"4.."', 'code=~".+"', 'code=""', 'zone=""')
    for matcher in matchers:
        yield f"{COUNTER}{{{matcher}}}"
        yield f'{COUNTER}{{{matcher},job=~"a.*"}}'
    yield '{__name__=~"http.*|up"}'
    yield '{__name__!~"http.*|up|.*bucket|.*(seconds|bytes).*"}'
    yield '{"with.dots"}'
    yield '{"with.dots","http.method"="GET"}'
    yield '{__name__="nothing"}'


def _ranges() -> Iterator[str]:
    for window in ("1m", "4m", "15m", "17s"):
        for function in ("rate", "increase", "delta", "irate", "idelta", "resets", "changes", "deriv"):
            for metric in (COUNTER, GAUGE, "sparse"):
                yield f"{function}({metric}[{window}])"
        for function in _OVER_TIME:
            for metric in (GAUGE, "up"):
                yield f"{function}_over_time({metric}[{window}])"
        for q in ("0.5", "0.99", "-1", "2", "0"):
            yield f"quantile_over_time({q}, {GAUGE}[{window}])"
        yield f"predict_linear({GAUGE}[{window}], 600)"
        yield f'absent_over_time(nothing{{a="b",c!="d"}}[{window}])'
        yield f"absent_over_time(up[{window}])"
        for function in ("rate", "increase", "irate", "resets", "changes", "count_over_time", "sum_over_time"):
            for metric in (NATIVE, CUSTOM):
                yield f"{function}({metric}[{window}])"
        for function in ("delta", "idelta", "avg_over_time", "last_over_time", "present_over_time"):
            yield f"{function}({NATIVE}[{window}])"
    for modifier in ("offset 5m", "@ end()", "@ start() offset -10m", "offset -2m"):
        yield f"rate({COUNTER}[5m] {modifier})"
        yield f"max_over_time({GAUGE}[5m] {modifier})"


def _elementwise() -> Iterator[str]:
    for function in _ELEMENTWISE:
        yield f"{function}({GAUGE})"
    for function in _DATES:
        yield f"{function}()"
        yield f"{function}(timestamp(up) - 86400 * 400)"
    for nearest in ("", ", 0.5", ", 10", ", 0.3"):
        yield f"round({GAUGE}{nearest})"
    yield f"clamp({GAUGE}, -2, 3)"
    yield f"clamp({GAUGE}, 3, -2)"
    yield f"clamp_min({GAUGE}, 0)"
    yield f"clamp_max({GAUGE}, 0)"
    yield f"-{GAUGE}"
    yield f"-{NATIVE}"
    yield f"abs({NATIVE})"


def _aggregations() -> Iterator[str]:
    for operation in _AGGREGATIONS:
        for grouping in (
            "",
            "by (job) ",
            "by (job, code) ",
            "without (instance) ",
            "by () ",
            "without () ",
            "by (none) ",
        ):
            yield f"{operation} {grouping}({COUNTER})"
        yield f"{operation} by (job) ({GAUGE})"
        yield f"{operation} (rate({COUNTER}[4m])) by (job)"
    for operation in ("sum", "avg", "count", "group", "min", "stddev"):
        yield f"{operation}({NATIVE})"
        yield f"{operation}({CUSTOM})"
        yield f'{operation}({{__name__=~"{NATIVE}|{GAUGE}"}})'
    for q in ("0.5", "0", "1", "0.33", "-0.5", "1.5", "NaN"):
        yield f"quantile({q}, {COUNTER})"
        yield f"quantile by (job) ({q}, {GAUGE})"
    for k in ("1", "3", "100", "0", "2.7"):
        yield f"topk({k}, {COUNTER})"
        yield f"bottomk by (job) ({k}, {COUNTER})"
        yield f"topk({k}, {GAUGE})"
    yield 'count_values("value", up)'
    yield 'count_values by (parity) ("value", steady)'
    yield f'count_values("value", round({GAUGE}))'
    yield "topk(2, steady)"
    yield "sum(nothing)"


def _binaries() -> Iterator[str]:
    for operator in _ARITHMETIC:
        yield f"{GAUGE} {operator} 3"
        yield f"3 {operator} {GAUGE}"
        yield f"2 {operator} 5"
        yield f"{COUNTER} {operator} on (job, instance, code) {COUNTER}"
        yield f"{COUNTER} {operator} on (job, instance) group_left () up"
        yield f"{COUNTER} {operator} ignoring (code) group_left () sum without (code) ({COUNTER})"
    for operator in _COMPARISONS:
        yield f"{GAUGE} {operator} 0"
        yield f"0 {operator} {GAUGE}"
        yield f"{GAUGE} {operator} bool 0"
        yield f"1 {operator} bool 2"
        yield f"{COUNTER} {operator} bool on (job, instance) group_left () up"
        yield f"{COUNTER} {operator} on (job, instance) group_left () up"
        yield f"{NATIVE} {operator} {NATIVE}"
    for operator in ("and", "or", "unless"):
        yield f"{COUNTER} {operator} on (instance) up"
        yield f"up {operator} {GAUGE}"
        yield f"up {operator} ignoring (instance) {COUNTER}"
        yield f"(up == 1) {operator} (up == 0)"
        yield f'{COUNTER}{{code="200"}} {operator} {COUNTER}{{job="web"}}'
    for operator in ("+", "-", "*", "/"):
        yield f"{NATIVE} {operator} {NATIVE}"
        yield f"{NATIVE} {operator} 2"
        yield f"2 {operator} {NATIVE}"
        yield f"{CUSTOM} {operator} on (job) group_left () sum by (job) ({CUSTOM})"
    for operator in ("</", ">/"):
        for limit in ("0.5", "0", "-1", "3"):
            yield f"{NATIVE} {operator} {limit}"
            yield f"{CUSTOM} {operator} {limit}"
    yield f"{COUNTER} / on (job) up"
    yield f"sum by (job) ({COUNTER}) / on (job) group_right (instance) up"
    yield f"{COUNTER} + on (job) {COUNTER}"
    yield "time()"
    yield "vector(1) + on () group_left () vector(2)"
    yield "1 + 2 * 3 ^ 2 ^ 0.5 - -1"
    yield "0 / 0"
    yield "1 / 0"
    yield '"a string"'


def _histograms() -> Iterator[str]:
    for q in ("0", "0.1", "0.5", "0.9", "0.99", "1", "-1", "2", "NaN"):
        yield f"histogram_quantile({q}, rate(latency_seconds_bucket[5m]))"
        yield f"histogram_quantile({q}, sum by (le) (rate(latency_seconds_bucket[5m])))"
        yield f"histogram_quantile({q}, {NATIVE})"
        yield f"histogram_quantile({q}, rate({NATIVE}[5m]))"
        yield f"histogram_quantile({q}, sum(rate({CUSTOM}[5m])))"
    for lower, upper in (("0", "1"), ("-1", "1"), ("0.25", "3"), ("-Inf", "+Inf"), ("1", "0.5"), ("NaN", "1")):
        yield f"histogram_fraction({lower}, {upper}, {NATIVE})"
        yield f"histogram_fraction({lower}, {upper}, rate({CUSTOM}[5m]))"
        yield f"histogram_fraction({lower}, {upper}, rate(latency_seconds_bucket[5m]))"
    for function in ("count", "sum", "avg", "stddev", "stdvar"):
        yield f"histogram_{function}({NATIVE})"
        yield f"histogram_{function}(rate({NATIVE}[5m]))"
        yield f"histogram_{function}({CUSTOM})"
    yield f"histogram_quantile(0.5, {GAUGE})"


def _subqueries() -> Iterator[str]:
    for function in ("max_over_time", "avg_over_time", "sum_over_time", "rate", "deriv", "count_over_time"):
        for step in ("1m", "37s", ""):
            yield f"{function}({GAUGE}[10m:{step}])"
            yield f"{function}(rate({COUNTER}[2m])[10m:{step}] offset 1m)"
    yield f"max_over_time((time() - max({GAUGE}))[10m:1m])"
    yield f"min_over_time(rate({COUNTER}[1m])[5m:30s] @ end())"
    yield f"max_over_time(sum by (job) (rate({COUNTER}[5m]))[15m:1m])"
    yield f"rate({NATIVE}[10m:1m])"


def _labels() -> Iterator[str]:
    yield f'label_replace({COUNTER}, "host", "$1-$2", "instance", "(.*):(.*)")'
    yield f'label_replace({COUNTER}, "host", "${{name}}", "instance", "(?P<name>.*):.*")'
    yield f'label_replace({COUNTER}, "job", "", "job", "api")'
    yield f'label_replace({COUNTER}, "job", "x$0y", "instance", "nomatch")'
    yield f'label_replace({COUNTER}, "instance", "same", "instance", ".*")'
    yield f'label_replace({COUNTER}, "a", "$1", "code", "(")'
    yield f'label_join({COUNTER}, "joined", "-", "job", "instance", "missing")'
    yield f'label_join({COUNTER}, "job", "", "missing")'
    yield 'label_replace(vector(1), "a", "b", "", "")'


def _special() -> Iterator[str]:
    for function in ("sort", "sort_desc"):
        yield f"{function}({GAUGE})"
        yield f"{function}({COUNTER})"
    yield "scalar(single)"
    yield f"scalar({GAUGE})"
    yield f"vector(scalar(sum({COUNTER})))"
    yield "absent(nothing)"
    yield 'absent(nothing{job="api",code=~"x"})'
    yield "absent(up)"
    yield f"{COUNTER} * scalar(count(up))"
    yield "pi()"
    yield f'{{job="api",__name__=~"{COUNTER}|up"}} * 2'
    yield f'rate({{__name__=~"{COUNTER}|latency_seconds_sum"}}[5m])'
    yield "mad_over_time(up[5m])"
    yield "sum(("
    yield "rate(up)"
    yield "up{job='api'"
    yield "nosuch(up)"
