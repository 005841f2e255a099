"""The command line as a script uses it: exit codes, JSON lines into pipes, errors on standard error."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.running import ADMIN, ROOT, Service


def weirctl(service: Service | None, *arguments: str, stdin: str = "", **environment: str) -> Any:
    """The finished process, started as the administrator."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR")}
    named = {"WEIRCTL_URL": service.url, "WEIRCTL_USER": ":".join(ADMIN)} if service else {}
    return subprocess.run(
        [sys.executable, "-m", "weirctl", *arguments],
        env=kept | named | environment,
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        text=True,
    )


def rows(done: Any) -> list[Any]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_keys_are_created_listed_shown_and_deleted(service: Service):
    assert weirctl(service, "role", "put", "cli-role", "ingestor:cli", "reader:cli:env=prod").returncode == 0

    (made,) = rows(weirctl(service, "key", "create", "cli-key", "--role", "cli-role"))
    listed = rows(weirctl(service, "key", "list"))
    (shown,) = rows(weirctl(service, "key", "show", made["keyId"]))
    deleted = weirctl(service, "key", "delete", made["keyId"])

    assert [each["apiKey"] for each in listed if each["keyName"] == "cli-key"] == [f"****{made['apiKey'][-4:]}"]
    assert shown["apiKey"] == made["apiKey"]
    assert deleted.returncode == 0
    assert service.call("GET", "/api/v1/about", headers={"X-API-Key": made["apiKey"]}).status_code == 401


def test_role_entries_are_what_was_written(service: Service):
    weirctl(service, "role", "put", "cli-entries", "admin", "ingestor:web", "reader:web:env=prod")

    (found,) = [each for each in rows(weirctl(service, "role", "list")) if each["name"] == "cli-entries"]

    assert found["entries"] == [
        {"privilege": "admin"},
        {"privilege": "ingestor", "resource": {"dataset": "web"}},
        {"privilege": "reader", "resource": {"dataset": "web", "tag": "env=prod"}},
    ]


def test_user_gets_a_password_that_works(service: Service):
    password = weirctl(service, "user", "create", "cli-user").stdout.strip()
    renewed = weirctl(service, "user", "renew-password", "cli-user").stdout.strip()

    assert service.call("GET", "/api/v1/about", auth=("cli-user", password)).status_code == 401
    assert service.call("GET", "/api/v1/about", auth=("cli-user", renewed)).status_code == 200
    assert weirctl(service, "user", "delete", "cli-user").returncode == 0


def test_file_is_ingested_once_though_it_is_sent_twice(service: Service, tmp_path: Path):
    file = tmp_path / "events.ndjson"
    file.write_text("".join(json.dumps({"n": n, "text": "x" * 500}) + "\n" for n in range(5000)))

    first = weirctl(service, "ingest", "cli-file", str(file))
    again = weirctl(service, "ingest", "cli-file", str(file))

    assert first.stderr == "5000 events are stored in cli-file\n"
    assert (first.returncode, again.returncode) == (0, 0)
    assert rows(weirctl(service, "query", 'SELECT count(*), sum(n) FROM "cli-file"')) == [
        {"count": 5000, "sum": 12497500}
    ]


def test_standard_input_is_ingested(service: Service):
    done = weirctl(service, "ingest", "cli-pipe", "-", stdin='{"a": 1}\n{"a": 2}\n')

    assert done.stderr == "2 events are stored in cli-pipe\n"


def test_query_reads_sql_from_standard_input_and_writes_csv(service: Service):
    done = weirctl(service, "query", "-", "--format", "csv", stdin="SELECT 1 AS a, 'x' AS b")

    assert done.stdout == "a,b\n1,x\n"


def test_table_shows_what_looks_like_markup_as_it_is(service: Service):
    done = weirctl(service, "query", "SELECT '[bold]x[/bold]' AS a", "--format", "table")

    assert "[bold]x[/bold]" in done.stdout
    assert "1 rows in" in done.stderr


def test_refusal_is_one_line_and_exit_code_1(service: Service):
    done = weirctl(service, "query", "SELECT * FROM cli_nowhere")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("weirctl: ")
    assert "dataset_not_found" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_wrong_usage_is_exit_code_2():
    done = weirctl(None, "key", "create")

    assert done.returncode == 2
    assert "Missing argument 'NAME'" in done.stderr


def test_server_that_is_not_there_is_told_without_a_traceback():
    done = weirctl(None, "key", "list", WEIRCTL_URL="http://127.0.0.1:9")

    assert done.returncode == 1
    assert done.stderr == "weirctl: http://127.0.0.1:9: cannot connect\n"


def test_settings_are_printed_without_secrets():
    done = weirctl(None, "settings", WEIR_ADMIN_PASSWORD="very secret", WEIR_MAX_COLUMNS="77")

    assert "WEIR_MAX_COLUMNS=77\n" in done.stdout
    assert "WEIR_ADMIN_PASSWORD=****\n" in done.stdout
    assert "very secret" not in done.stdout


def test_bad_setting_is_named():
    done = weirctl(None, "settings", WEIR_MAX_COLUMNS="many")

    assert done.returncode == 1
    assert "WEIR_MAX_COLUMNS" in done.stderr


def test_reader_that_leaves_ends_the_command_quietly(service: Service):
    command = f"{sys.executable} -m weirctl query 'SELECT * FROM generate_series(1, 200000) AS g(n)' | head -n 1"
    environment = {**os.environ, "WEIRCTL_URL": service.url, "WEIRCTL_USER": ":".join(ADMIN)}

    done = subprocess.run(["bash", "-c", command], env=environment, cwd=ROOT, capture_output=True, text=True)

    assert done.stdout == '{"n":1}\n'
    assert done.stderr == ""
