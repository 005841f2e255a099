"""Elasticsearch's Python client, as its users set it up."""

import base64

import pytest

from tests.running import Service

elasticsearch = pytest.importorskip("elasticsearch", reason="the Elasticsearch client is not installed")
helpers = pytest.importorskip("elasticsearch.helpers", reason="the Elasticsearch client is not installed")


@pytest.mark.parametrize("prefix", ["/elasticsearch", ""], ids=["prefix", "root"])
def test_bulk_helper_stores_and_tells_of_errors(service: Service, ingest_key: str, prefix: str):
    client = elasticsearch.Elasticsearch(
        f"{service.url}{prefix}", api_key=base64.b64encode(f"id:{ingest_key}".encode()).decode()
    )
    dataset = f"es-python{prefix.replace('/', '-')}"
    actions = [{"_index": dataset, "_op_type": "create", "n": number} for number in range(1000)]
    actions.append({"_index": dataset, "_op_type": "delete", "_id": "1"})

    stored, errors = helpers.bulk(client, actions, raise_on_error=False)

    assert (stored, [error["delete"]["status"] for error in errors]) == (1000, [400])
    assert client.info()["version"]["number"].startswith("8.")
    assert service.query(f'select count(*), sum(n) from "{dataset}"') == [{"count": 1000, "sum": 499500}]
