"""The application over a real database, without a server."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Blueprint, Flask
from werkzeug.test import TestResponse

import app as service
from auth.access import Access, AccessOptions, build
from auth.passwords import Passwords
from auth.privileges import Action, require
from config import Settings
from models import role, user
from models.tenant import DEFAULT
from models.user import NewUser
from web.authentication import protect
from web.caller import caller
from web.services import hold, services_of

ADMIN = ("admin", "correct horse battery staple")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OPTIONS = {"secret_key": "a secret key for tests", "multi_tenant": False, "one_host": True}


def inline(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """In place of runtime.offload: there is no hub to keep free."""
    return function(*args, **kwargs)


def make_app(access: Access, data_dir: Path) -> Flask:
    """The application, and `/whoami` and `/dataset/<name>/<action>`, which tell what the caller is and may.

    Nothing is recorded: hundreds of tests would wait for the disk.
    """
    app = service.join(service.build(Settings(data_dir=data_dir), access))
    record(app, lambda *_: None)
    probe = protect(Blueprint("probe", __name__))

    @probe.get("/whoami")
    def whoami() -> dict[str, Any]:
        identity = caller()
        return {"tenant": identity.tenant, "kind": identity.kind, "name": identity.name, "roles": identity.roles}

    @probe.post("/write")
    def write() -> str:
        return "written"

    @probe.get("/dataset/<name>/<action>")
    def attempt(name: str, action: str) -> str:
        require(caller(), Action(action), name)
        return "done"

    app.register_blueprint(probe)
    return app


def record(app: Flask, store: Callable[..., None]) -> None:
    """From now on the application's audit goes to `store`."""
    hold(app, replace(services_of(app), audit=store))


class Caller:
    """Calls the application as somebody: a user by name and password, or a key by its secret."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def __call__(
        self, method: str, path: str, auth: tuple[str, str] | str | None = ADMIN, **arguments: Any
    ) -> TestResponse:
        headers = dict(arguments.pop("headers", {}))
        if isinstance(auth, str):
            headers["X-API-Key"] = auth
        else:
            arguments["auth"] = auth
        return self.app.test_client(use_cookies=False).open(path, method=method, headers=headers, **arguments)

    def make_role(self, name: str, *entries: dict[str, Any]) -> str:
        assert self("PUT", f"/api/v1/role/{name}", json=list(entries)).status_code == 200
        return name

    def make_key(self, name: str, *entries: dict[str, Any]) -> dict[str, Any]:
        """A fresh key whose one role, of the same name, has these entries."""
        self.make_role(name, *entries)
        made = self("POST", "/api/console/v1/apikeys", json={"keyName": name, "roles": [name]})
        assert made.status_code == 200, made.text
        return made.get_json()

    def make_user(self, name: str, *entries: dict[str, Any]) -> tuple[str, str]:
        """The credentials of a fresh user whose one role, of the same name, has these entries."""
        self.make_role(name, *entries)
        made = self("POST", f"/api/v1/user/{name}", json=[name])
        assert made.status_code == 200, made.text
        return (name, made.get_json())


@pytest.fixture(scope="session")
def passwords() -> Passwords:
    return Passwords(inline)


@pytest.fixture(scope="session")
def admin_hash(passwords: Passwords) -> str:
    return passwords.hash(ADMIN[1])


@pytest.fixture
def access(database: None, passwords: Passwords, admin_hash: str, tmp_path: Path) -> Access:
    role.put(DEFAULT, "admin", [{"privilege": "admin"}])
    user.create(DEFAULT, NewUser(ADMIN[0], admin_hash, NOW), ["admin"])
    return build(AccessOptions(data_dir=tmp_path, **OPTIONS), passwords)


@pytest.fixture
def call(access: Access, tmp_path: Path) -> Caller:
    return Caller(make_app(access, tmp_path))


@pytest.fixture
def call_tenants(access: Access, tmp_path: Path) -> Caller:
    """As `call`, of a server of several tenants: name one by `headers={"X-P-Tenant": ...}`."""
    return Caller(make_app(replace(access, multi_tenant=True), tmp_path))
