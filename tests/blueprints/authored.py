"""Bodies of authored objects, and identities that differ in what they may do with them."""

from typing import Any

from tests.running import Service

READER, WRITER = "reader", "writer"


def entry(privilege: str, dataset: str | None = None) -> dict[str, Any]:
    return {"privilege": privilege} if dataset is None else {"privilege": privilege, "resource": {"dataset": dataset}}


class Client:
    """Calls the service by one API key."""

    def __init__(self, service: Service, name: str, *entries: dict[str, Any]) -> None:
        self._service = service
        self.name = name
        self._key = service.make_key(name, *entries)

    def __call__(self, method: str, path: str, **arguments: Any) -> Any:
        headers = {"X-API-Key": self._key, **arguments.pop("headers", {})}
        return self._service.call(method, f"/api/v1/{path}", headers=headers, **arguments)


def dashboard(title: str, *queries: str, **members: Any) -> dict[str, Any]:
    tiles = [{"title": f"tile {index}", "query": sql, "chart": "line"} for index, sql in enumerate(queries)]
    return {"title": title, "tiles": tiles, **members}


def sql_filter(name: str, dataset: str, sql: str | None = None, **members: Any) -> dict[str, Any]:
    query = {"filter_type": "sql", "filter_query": sql or f"SELECT * FROM {dataset}"}
    return {"stream_name": dataset, "filter_name": name, "query": query, "time_filter": None, **members}


def alert(title: str, dataset: str, **members: Any) -> dict[str, Any]:
    return {
        "title": title,
        "query": f"SELECT count(*) FROM {dataset}",
        "alertType": "threshold",
        "thresholdConfig": {"operator": ">", "value": 10},
        "evalConfig": {"rollingWindow": {"evalStart": "5m", "evalEnd": "now", "evalFrequency": 1}},
        "notificationConfig": {"interval": 10},
        "severity": "high",
        **members,
    }


def webhook(name: str, endpoint: str = "https://hooks.example.com/T0/secret", **members: Any) -> dict[str, Any]:
    return {"name": name, "type": "webhook", "endpoint": endpoint, **members}
