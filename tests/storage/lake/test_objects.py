"""Tables whose files are objects of a bucket."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models import lake
from storage.files.store import has_object
from storage.lake.publication import publish_all, sweep_metadata
from tests.storage.lake.conftest import GRACE_SECONDS
from tests.storage.workbench import Bench

pyiceberg = pytest.importorskip("pyiceberg.table", reason="PyIceberg is not installed")


@pytest.fixture
def objects(tmp_path: Path, database: None, bucket: str) -> Bench:
    return Bench(tmp_path, bucket)


def table(location: str) -> Any:
    """The table, read with the reader's own credentials."""
    properties = {
        "s3.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"],
        "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "s3.region": os.environ["AWS_REGION"],
    }
    return pyiceberg.StaticTable.from_metadata(location, properties)


def test_a_table_of_objects_is_read_from_the_bucket(objects: Bench) -> None:
    objects.append(x=[1, 2])
    objects.convert()

    publish_all(objects.layout, GRACE_SECONDS)

    published = lake.find(objects.app.id)
    assert published is not None
    found = table(f"{objects.layout.url}/{published.metadata_path}").scan().to_arrow()
    assert sorted(found["x"].to_pylist()) == [1, 2]
    objects.storage.close()


def test_metadata_objects_are_deleted_when_nobody_refers_to_them(objects: Bench) -> None:
    objects.append(x=[1])
    objects.convert()
    publish_all(objects.layout, GRACE_SECONDS)
    before = lake.find(objects.app.id)
    objects.append(x=[2])
    objects.convert()
    publish_all(objects.layout, GRACE_SECONDS)
    after = lake.find(objects.app.id)
    assert before is not None
    assert after is not None
    assert objects.layout.url is not None

    sweep_metadata(objects.layout, 0, now=datetime.now(UTC) + timedelta(hours=1))

    there = [has_object(objects.layout.url, each.metadata_path) for each in (before, after)]
    assert there == [False, True]
    objects.storage.close()
