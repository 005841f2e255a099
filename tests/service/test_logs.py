"""What a running service logs, as a log shipper reads it."""

import json
from collections.abc import Callable

from tests.running import ADMIN, Service


def test_every_line_is_json_names_its_request_and_holds_no_secret(start_service: Callable[..., Service]):
    service = start_service(workers=1, WEIR_LOG_FORMAT="json", WEIR_SECRET_KEY="a-key-that-seals")
    secret = service.make_key("logged", {"privilege": "ingestor"})
    wrong = "11111111-2222-4333-8444-555555555555"
    service.call("POST", "/api/v1/ingest", json=[{}], headers={"X-API-Key": wrong, "X-Request-Id": "with-a-wrong-key"})
    service.call("POST", "/api/v1/query", json={"query": "SELECT"}, headers={"X-API-Key": secret})
    service.stop()

    text = service.log.read_text()

    lines = [json.loads(line) for line in text.splitlines()]
    (refused,) = [line for line in lines if line.get("request_id") == "with-a-wrong-key"]
    assert (refused["level"], refused["code"]) == ("info", "unauthenticated")
    assert any(line["logger"] == "gunicorn.error" for line in lines)
    assert any(line["logger"] == "__main__" and "maintenance" in line["message"] for line in lines)
    for each in (secret, wrong, ADMIN[1], "a-key-that-seals"):
        assert each not in text
