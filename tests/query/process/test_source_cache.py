"""What is kept of a source that is asked about again; a source that is sent again is the same object."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import dataset
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Source
from query.process.source_cache import MOST_KEPT, CachedSource, SourceCache
from query.results.options import Options
from storage.read.snapshot import take_snapshot
from tests.query.process.test_result_cache import Kept
from tests.storage.workbench import Bench


@pytest.fixture
def bench(tmp_path: Path, database: None) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.storage.close()


def sent(source: Source) -> Source:
    """As it arrives in a query process."""
    received: Source = pickle.loads(pickle.dumps(source))
    return received


def test_source_that_is_sent_again_arrives_as_the_same_object(bench: Bench) -> None:
    bench.append(x=[1])
    source = Source(take_snapshot(bench.layout, bench.app), None, None)
    again = Source(take_snapshot(bench.layout, bench.app), None, None, frozenset({("x", "1")}))

    assert sent(source) is sent(source)
    assert sent(source) == source
    assert (sent(again), sent(again) == sent(source)) == (again, False)


def test_only_what_comes_again_is_kept_and_only_the_latest(bench: Bench) -> None:
    sources = [Source(take_snapshot(bench.layout, bench.app), None, None) for _ in range(MOST_KEPT + 2)]
    readings = SourceCache()

    first: list[CachedSource] = [readings.of(source) for source in sources]
    second = [readings.of(source) for source in sources]

    assert not any(a is b for a, b in zip(first, second, strict=True))
    latest = list(zip(sources, second, strict=True))[-MOST_KEPT:]
    assert all(readings.of(source) is reading for source, reading in latest)
    assert len(readings._kept) == MOST_KEPT


def test_questions_of_one_snapshot_get_its_rows_and_a_later_snapshot_its_own(bench: Bench) -> None:
    execution = Execution()

    def ask(source: Source, sql: str) -> object:
        kept = Kept()
        execution.handle(Parse(sql), kept)
        request = pickle.loads(pickle.dumps(Execute({"app": source}, 0, Options(), "identity", 2**20)))
        assert execution.handle(request, kept)["expired"] is False
        return json.loads(kept.data)

    bench.append(x=[1, 2])
    bench.convert()
    bench.append(x=[3])
    source = Source(take_snapshot(bench.layout, bench.app), None, None)
    bench.append(target=dataset.create("default", "other"), x=[9])
    bench.append(x=[4])
    later = Source(take_snapshot(bench.layout, bench.app), None, None)

    for number in range(4):
        assert ask(source, f"SELECT sum(x) + {number} AS s FROM app") == [{"s": 6 + number}]
        assert ask(later, f"SELECT sum(x) + {number} AS s FROM app") == [{"s": 10 + number}]
        assert ask(source, f"SELECT count(*) AS n FROM app WHERE x > {number}") == [{"n": 3 - number}]
