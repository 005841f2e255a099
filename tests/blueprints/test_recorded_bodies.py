"""What log shippers send, written down from their documented formats, and the columns each body must become.

`tests/data/json/<client>.body` is the body before its content coding, `<client>.json` its headers and what it becomes.
"""

import gzip
import json
import zlib
from io import BytesIO
from pathlib import Path

import cramjam
import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from errors import UnsupportedMedia
from ingest.json.decoding import decode
from web.bodies import read_body, require_json_type

RECORDED = Path(__file__).parent.parent / "data" / "json"
CLIENTS = sorted(path.stem for path in RECORDED.glob("*.body"))
REFUSED = [client for client in CLIENTS if "refused" in json.loads((RECORDED / f"{client}.json").read_text("utf-8"))]
ENCODERS = {
    None: bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
}


def recorded(client: str) -> tuple[Request, dict]:
    record = json.loads((RECORDED / f"{client}.json").read_text("utf-8"))
    body = (RECORDED / f"{client}.body").read_bytes()
    wire = ENCODERS[record["headers"].get("Content-Encoding")](body)
    environ = EnvironBuilder(method="POST", headers=record["headers"]).get_environ()
    return Request(environ | {"wsgi.input": BytesIO(wire), "CONTENT_LENGTH": str(len(wire))}), record


@pytest.mark.parametrize("client", [client for client in CLIENTS if client not in REFUSED])
def test_body_of_a_client_becomes_its_columns(client):
    request, record = recorded(client)

    require_json_type(request)
    batch = decode(read_body(request, max_body_bytes=1_000_000, max_decoded_bytes=1_000_000))

    names = [f"{field.name} {field.type}" for field in batch.fields]
    assert dict(zip(names, (column.to_list() for column in batch.columns), strict=True)) == record["columns"]


@pytest.mark.parametrize("client", REFUSED)
def test_format_that_is_not_json_is_refused(client):
    request, record = recorded(client)

    with pytest.raises(UnsupportedMedia) as refused:
        require_json_type(request)

    assert refused.value.code == record["refused"]
