"""Elasticsearch's Python client, as its users set it up."""

import base64

import pytest

from tests.running import Service

elasticsearch = pytest.importorskip("elasticsearch", reason="the Elasticsearch client is not installed")
helpers = pytest.importorskip("elasticsearch.helpers", reason="the Elasticsearch client is not installed")


def test_bulk_helper_stores_and_tells_of_errors(service: Service, ingest_key: str):
    client = elasticsearch.Elasticsearch(
        f"{service.url}/elasticsearch", api_key=base64.b64encode(f"id:{ingest_key}".encode()).decode()
    )
    actions = [{"_index": "es-python", "_op_type": "create", "n": number} for number in range(1000)]
    actions.append({"_index": "es-python", "_op_type": "delete", "_id": "1"})

    stored, errors = helpers.bulk(client, actions, raise_on_error=False)

    assert (stored, [error["delete"]["status"] for error in errors]) == (1000, [400])
    assert client.info()["version"]["number"].startswith("8.")
    assert service.query('select count(*), sum(n) from "es-python"') == [{"count": 1000, "sum": 499500}]
