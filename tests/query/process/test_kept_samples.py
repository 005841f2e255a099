"""What a query process keeps of metrics files changes no answer: over new rows, other files, other readers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from models import dataset, file
from query.metrics.kept_samples import KeptSamples
from query.metrics.series import MetricSource
from query.process.execution import Execution
from query.process.messages import Source, Tags
from query.process.metric_messages import Evaluate, Expression, MetricLimits, ParseExpression
from storage.read.snapshot import take_snapshot
from storage.times import to_us
from tests.query.process.test_result_cache import Kept
from tests.storage.workbench import NOON, Bench

NOON_MS = to_us(NOON) // 1000
LIMITS = MetricLimits(1_000_000, 100_000, 2**24)


@pytest.fixture
def bench(tmp_path: Path, database: None) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.app = dataset.create("default", "numbers", time_column="time_unix_nano", telemetry_type="metrics")
    yield made
    made.storage.close()


def add(bench: Bench, seconds: range, metric: str = "up_total", start: int = 0, **labels: str) -> None:
    """A sample every so many seconds after noon."""
    count = len(seconds)
    bench.append(
        metric_name=[metric] * count,
        time_unix_nano=[NOON + timedelta(seconds=each) for each in seconds],
        data_point_value=[float(start + each) for each in seconds],
        **{name: [value] * count for name, value in labels.items()},
    )


def ask(
    execution: Execution, bench: Bench, text: str, only: Tags | None = None, minutes: tuple[int, int] = (0, 20)
) -> object:
    start, end = (NOON_MS + minute * 60_000 for minute in minutes)
    expression = Expression(text, start, end, 30_000, True, 300_000)
    told = execution.handle(ParseExpression(expression), Kept())
    bounds = int(told["start"]) * 10**6, (int(told["end"]) + 1) * 10**6
    snapshot = take_snapshot(bench.layout, bench.app, *(bounds if only is None else ()), columns=("metric_name",))
    kept = Kept()
    execution.handle(Evaluate(Source(snapshot, *bounds, only), LIMITS, "identity"), kept)
    return orjson.loads(kept.data)["data"]["result"]


@pytest.fixture
def agreed(bench: Bench):
    """Asks a process that keeps samples, several times, and one that has none, and gives what all of them say."""
    execution = Execution()

    def agreed(
        text: str = "rate(up_total[2m])", only: Tags | None = None, minutes: tuple[int, int] = (0, 20)
    ) -> object:
        fresh = ask(Execution(), bench, text, only, minutes)
        assert [ask(execution, bench, text, only, minutes) for _ in range(3)] == [fresh] * 3
        return fresh

    return agreed


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How samples were read: in a range (`select`), or all of some files to be kept (`all_samples`)."""
    found: list[str] = []
    for name in ("select", "all_samples"):
        genuine = getattr(MetricSource, name)

        def counted(*arguments: object, genuine=genuine, name=name) -> object:
            found.append(name)
            return genuine(*arguments)

        monkeypatch.setattr(MetricSource, name, counted)
    return found


def test_files_are_read_once_from_the_second_question_on(bench: Bench, reads: list[str]) -> None:
    add(bench, range(0, 600, 15), job="a")
    bench.convert()
    execution = Execution()

    answers = [ask(execution, bench, "rate(up_total[2m])") for _ in range(4)]

    assert len(answers[0]) == 1
    assert all(each == answers[0] for each in answers)
    assert reads == ["select", "all_samples"]
    assert ask(execution, bench, "up_total", minutes=(3, 4)) != []
    assert reads == ["select", "all_samples"]


def test_rows_in_no_file_yet_are_in_the_answer(bench: Bench, agreed) -> None:
    add(bench, range(0, 600, 15), job="a")
    bench.convert()
    before = agreed()

    add(bench, range(600, 900, 15), job="a")
    add(bench, range(0, 900, 15), job="b")

    assert len(agreed()) == len(before) + 1 == 2


def test_files_that_were_added_or_removed_are_seen_at_once(bench: Bench, agreed) -> None:
    add(bench, range(0, 600, 15), job="a")
    bench.convert()
    agreed()
    add(bench, range(615, 900, 15), job="b")
    bench.convert()
    assert len(agreed()) == 2

    assert file.expire(bench.app.id, (NOON_MS + 600_000) * 10**6, datetime.now(UTC)) == 1
    assert [each["metric"] for each in agreed()] == [{"job": "b"}]
    assert file.expire(bench.app.id, (NOON_MS + 900_000) * 10**6, datetime.now(UTC)) == 1
    assert agreed() == []


def test_ranges_over_several_hours_share_what_is_kept(bench: Bench, agreed) -> None:
    for hour in range(3):
        add(bench, range(hour * 3600, hour * 3600 + 600, 15), job="a")
    bench.convert()

    assert len(file.find(bench.app.id, None, None)) == 3
    assert [len(agreed("up_total", minutes=each)) for each in ((0, 180), (60, 70), (0, 70), (30, 40))] == [1, 1, 1, 0]


def test_first_of_two_samples_of_one_time_counts_in_whichever_files_they_are(bench: Bench, agreed) -> None:
    """Section 7 of the contract."""
    add(bench, range(0, 60, 15), job="a")
    bench.convert()
    add(bench, range(0, 60, 15), start=1000, job="a")
    bench.convert()
    add(bench, range(0, 60, 15), start=2000, job="a")

    (series,) = agreed("max_over_time(up_total[1m])", minutes=(0, 1))

    assert [value for _, value in series["values"]] == ["0", "30", "45"]


def test_narrowed_reader_gets_nothing_of_what_is_kept_for_others(bench: Bench, agreed) -> None:
    add(bench, range(0, 600, 15), job="a", team="red")
    add(bench, range(0, 600, 15), job="b", team="blue")
    bench.convert()
    everything = agreed()

    (mine,) = agreed(only=frozenset({("team", "red")}))

    assert len(everything) == 2
    assert mine["metric"] == {"job": "a", "team": "red"}


@pytest.mark.parametrize(
    "text",
    [
        "nosuch",
        'up_total{job="z"}',
        '{__name__=~"up_.*",job!="b"}',
        '{job="a"}',
        "absent(nosuch)",
        "up_total offset 5m",
    ],
)
def test_other_selections(bench: Bench, agreed, text: str) -> None:
    add(bench, range(0, 600, 15), job="a")
    add(bench, range(0, 600, 15), metric="down", job="b")
    bench.convert()

    agreed(text)


def test_column_that_is_new_is_a_label_of_new_series_alone(bench: Bench, agreed) -> None:
    add(bench, range(0, 600, 15), job="a")
    bench.convert()
    agreed()

    add(bench, range(0, 600, 15), job="a", zone="x")
    bench.convert()

    assert [each["metric"] for each in agreed()] == [{"job": "a"}, {"job": "a", "zone": "x"}]


def test_what_was_asked_longest_ago_goes_first(bench: Bench) -> None:
    add(bench, range(0, 600, 15), job="a")
    bench.convert()
    execution = Execution()
    execution._metrics._kept = kept = KeptSamples(most_bytes=3000)

    for text in ("up_total", 'up_total{job="a"}', 'up_total{job!="b"}') * 2:
        assert len(ask(execution, bench, text)) == 1

    assert 1 <= len(kept._kept) < 3
