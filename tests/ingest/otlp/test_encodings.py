"""Protobuf and JSON of the same data give the same rows: same columns, types, order and values."""

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from columns import POLARS_TYPES, Batch
from ingest.otlp import logs, metrics, traces

DECODERS = {"logs": logs.decode, "metrics": metrics.decode, "traces": traces.decode}


def equal(one: Batch, other: Batch) -> bool:
    return (
        one.fields == other.fields
        and one.height == other.height
        and all(left.equals(right, null_equal=True) for left, right in zip(one.columns, other.columns, strict=True))
    )


def well_formed(batch: Batch) -> bool:
    return (
        len(set(batch.fields)) == len(batch.fields)
        and all(len(column) == batch.height for column in batch.columns)
        and all(column.null_count() < len(column) for column in batch.columns)
        and all(
            column.dtype == POLARS_TYPES[field.type] and column.name == field.name
            for field, column in zip(batch.fields, batch.columns, strict=True)
        )
    )


@pytest.mark.parametrize("signal", DECODERS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), numbers_as_text=st.booleans())
def test_json_and_protobuf_of_the_same_data_give_equal_batches(signal, requests, to_json, data, numbers_as_text):
    """Spec 4.2 and api.md section 4: both encodings, one row per record."""
    request = data.draw(requests[signal])
    document = orjson.dumps(to_json(request, numbers_as_text))

    from_protobuf = DECODERS[signal](request.SerializeToString(), "application/x-protobuf")
    from_json = DECODERS[signal](document, "application/json")

    assert well_formed(from_protobuf.batch)
    assert equal(from_protobuf.batch, from_json.batch)
    assert from_protobuf.rejected == from_json.rejected == 0
