"""ResultCache that are known: only to the same query over the same contents, and only as many as there is room for."""

import pytest

from alerting import result_cache
from alerting.result_cache import CachedResult, ResultCache
from models.column import Schema
from storage.read.fingerprint import Fingerprint

CONTENTS = Fingerprint(Schema(1, ()), "p_timestamp", ("a.parquet",), ())
OTHER = Fingerprint(Schema(1, ()), "p_timestamp", ("a.parquet", "b.parquet"), ())


def test_answer_holds_for_its_alert_query_and_contents_alone():
    kept = ResultCache()
    kept.keep("A", CachedResult("SELECT 1", CONTENTS, b"[1]"))

    assert kept.recall("A", "SELECT 1", CONTENTS) == b"[1]"
    assert kept.recall("B", "SELECT 1", CONTENTS) is None
    assert kept.recall("A", "SELECT 2", CONTENTS) is None
    assert kept.recall("A", "SELECT 1", OTHER) is None
    assert kept.recall("A", "SELECT 1", None) is None


def test_large_answer_is_not_kept_and_the_former_goes():
    kept = ResultCache()
    kept.keep("A", CachedResult("SELECT 1", CONTENTS, b"[1]"))
    kept.keep("A", CachedResult("SELECT 1", OTHER, b"x" * (result_cache.LARGEST_BYTES + 1)))

    assert kept.recall("A", "SELECT 1", CONTENTS) is None
    assert kept.recall("A", "SELECT 1", OTHER) is None


def test_the_longest_unused_go_first(monkeypatch: pytest.MonkeyPatch):
    answer = CachedResult("SELECT 1", CONTENTS, b"[1]")
    monkeypatch.setattr(result_cache, "MOST_BYTES", 2 * answer.size)
    kept = ResultCache()
    for alert_id in "AB":
        kept.keep(alert_id, answer)
    kept.recall("A", "SELECT 1", CONTENTS)
    kept.keep("C", answer)

    assert [kept.recall(each, "SELECT 1", CONTENTS) for each in "ABC"] == [b"[1]", None, b"[1]"]
