"""Above the high-water mark nothing is taken in, until use falls below the low one (api.md section 1, 503)."""

from pathlib import Path

import pytest

from errors import DiskFull
from storage.write.disk_watermark import DiskWatermark, used_percent
from storage.write.engine import Storage
from tests.storage.workbench import Bench


def test_ingestion_stops_at_the_high_mark_and_resumes_below_the_low_one() -> None:
    used = [80.0]
    water = DiskWatermark(lambda: used[0], 92, 88)
    refused = []

    for used[0] in (91.9, 92.0, 90.0, 88.0, 87.9, 91.0):
        water.refresh()
        refused.append(_refuses(water))

    assert refused == [False, True, True, True, False, False]


def _refuses(water: DiskWatermark) -> bool:
    try:
        water.check()
    except DiskFull as error:
        return error.retry_after_seconds > 0
    return False


def test_disk_is_not_measured_for_every_request() -> None:
    measured: list[int] = []
    water = DiskWatermark(lambda: len(measured) or measured.append(1) or 0.0, 92, 88)

    for _ in range(100):
        water.check()

    assert measured == [1]


def test_use_is_a_percentage(tmp_path: Path) -> None:
    assert 0 <= used_percent(tmp_path) <= 100


def test_full_disk_refuses_events_and_stores_nothing(bench: Bench) -> None:
    storage = Storage(bench.layout, disk_high_water_percent=0, disk_low_water_percent=0)
    bench.storage, full = storage, bench.storage
    full.close()

    with pytest.raises(DiskFull):
        bench.append(x=[1])

    assert bench.rows().height == 0
