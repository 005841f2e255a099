"""The way back in for who has lost the administrator's password."""

import requests

from tests.running import ADMIN, Service
from tests.weirctl.test_commands import rows, weirctl


def on(service: Service, *arguments: str):
    return weirctl(None, *arguments, **service.environment, WEIR_DATA_DIR=str(service.data_dir))


def status(service: Service, password: str) -> int:
    return requests.get(f"{service.url}/api/v1/user", auth=(ADMIN[0], password), timeout=30).status_code


def test_lost_password_is_replaced_beside_the_running_server_and_recorded(start_service):
    service = start_service(workers=2)
    assert status(service, ADMIN[1]) == 200

    done = on(service, "admin", "reset-password")

    assert done.returncode == 0, done.stderr
    (made,) = rows(done)
    assert made["user"] == ADMIN[0]
    assert {status(service, ADMIN[1]) for _ in range(6)} == {401}
    assert {status(service, made["password"]) for _ in range(6)} == {200}
    audited = requests.post(
        f"{service.url}/api/v1/query",
        json={"query": "SELECT target, actor_kind FROM p_audit WHERE action = 'admin.reset_password'"},
        auth=(ADMIN[0], made["password"]),
        timeout=30,
    )
    assert audited.json() == [{"target": ADMIN[0], "actor_kind": "host"}]
    service.stop()
    service.start_process_again = None


def test_somebody_who_is_no_administrator_is_refused_with_the_names_of_those_who_are(service: Service):
    done = on(service, "admin", "reset-password", "nobody")

    assert done.returncode == 1
    assert f"nobody is no administrator of default; these are: {ADMIN[0]}" in done.stderr


def test_changed_password_in_the_settings_is_said_to_be_unused(start_service):
    service: Service = start_service(workers=1)
    first = service.log.read_text()
    service.stop()
    service.environment = {**service.environment, "WEIR_ADMIN_PASSWORD": "another-long-password"}

    service.start()

    assert "WEIR_ADMIN_PASSWORD counts on the first start alone" not in first
    assert service.log.read_text().count("WEIR_ADMIN_PASSWORD counts on the first start alone") == 1
    assert status(service, ADMIN[1]) == 200
