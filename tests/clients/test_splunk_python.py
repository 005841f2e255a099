"""Splunk's collector as the logging handlers of Python programs send to it."""

import logging
import time
from collections.abc import Iterator

import pytest

from tests.running import Service

splunk_handler = pytest.importorskip("splunk_handler", reason="splunk_handler is not installed")
splunk_hec_handler = pytest.importorskip("splunk_hec_handler", reason="splunk-hec-handler is not installed")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger that nothing else listens to."""
    logger = logging.getLogger(f"splunk-{time.monotonic_ns()}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield logger
    for handler in list(logger.handlers):
        logger.removeHandler(handler)


def test_handler_that_sends_batches(service: Service, ingest_key: str, logger: logging.Logger):
    """splunk_handler: concatenated events, one text each."""
    handler = splunk_handler.SplunkHandler(
        "127.0.0.1", service.port, ingest_key, "splunk_batches", protocol="http", flush_interval=0, source="shop"
    )
    logger.addHandler(handler)

    for number in range(10):
        logger.info("paid %d", number)
    handler.force_flush()

    found = service.query("select message, source, sourcetype from splunk_batches order by message")
    assert found == [{"message": f"paid {n}", "source": "shop", "sourcetype": "text"} for n in range(10)]


@pytest.mark.parametrize("endpoint", ["event", "raw"])
def test_handler_that_sends_each_record(service: Service, ingest_key: str, logger: logging.Logger, endpoint: str):
    """splunk-hec-handler: an object for each record, with fields."""
    index = f"splunk_each_{endpoint}"
    handler = splunk_hec_handler.SplunkHecHandler(
        "127.0.0.1", ingest_key, port=service.port, proto="http", index=index, source="shop", endpoint=endpoint
    )
    # The raw endpoint takes no names from the body.
    handler.url += f"?index={index}" if endpoint == "raw" else ""
    logger.addHandler(handler)

    logger.warning({"text": "paid", "amount": 7, "fields": {"color": "red"}})

    found = service.query(f"select * from {index}")
    assert len(found) == 1
    if endpoint == "event":
        assert {name: found[0][name] for name in ("log_level", "text", "amount", "color", "source")} == {
            "log_level": "WARNING",
            "text": "paid",
            "amount": 7,
            "color": "red",
            "source": "shop",
        }
    else:
        assert '"amount": 7' in found[0]["message"]
