"""Whence a request came, when proxies stand in front: only as many of them are believed as are said to be there."""

from collections.abc import Callable

import pytest

from tests.running import Service

FORGED = {"X-Forwarded-For": "203.0.113.7, 198.51.100.9"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, "127.0.0.1", id="none"),
        pytest.param({"WEIR_TRUSTED_PROXIES": "1"}, "198.51.100.9", id="one"),
    ],
)
def test_sender_is_whom_the_last_trusted_proxy_names(
    start_service: Callable[..., Service], settings: dict[str, str], expected: str
):
    service = start_service(workers=1, **settings)

    service.ingest("app", [{"n": 1}], **FORGED).raise_for_status()

    assert service.query("SELECT p_src_ip FROM app") == [{"p_src_ip": expected}]
