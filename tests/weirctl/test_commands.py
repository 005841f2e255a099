"""The command line as a script uses it: exit codes, JSON lines into pipes, errors on standard error."""

import gzip
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.running import ADMIN, ROOT, Service, wait_until
from weirctl.demo import QUESTIONS, TRACES, hour


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


def test_a_dataset_is_given_its_events_time(service: Service):
    service.ingest("cli-arrived", {"at": "2026-01-02T03:04:05Z"}).raise_for_status()

    done = weirctl(service, "dataset", "event-time", "cli-arrived", "at")

    assert done.stderr.startswith("dataset cli-arrived goes by at;")
    (info,) = rows(weirctl(service, "dataset", "info", "cli-arrived"))
    assert info["timePartition"] == "at"


def test_senders_of_a_dataset_are_told(service: Service):
    service.ingest("cli-sent", [{"a": 1}, {"a": 2}]).raise_for_status()

    wait_until(lambda: bool(rows(weirctl(service, "dataset", "senders", "cli-sent"))))

    (sender,) = rows(weirctl(service, "dataset", "senders", "cli-sent", "--hours", "24"))
    assert (sender["sender"], sender["kind"], sender["events"], sender["requests"]) == ("admin", "native", 2, 1)


def test_datasets_are_created_described_and_deleted(service: Service):
    created = weirctl(service, "dataset", "create", "cli-made", "--time-field", "at")
    service.ingest("cli-made", {"at": "2026-01-02T03:04:05Z"}).raise_for_status()
    (info,) = rows(weirctl(service, "dataset", "info", "cli-made"))
    (stats,) = rows(weirctl(service, "dataset", "stats", "cli-made"))
    (day,) = rows(weirctl(service, "dataset", "stats", "cli-made", "--date", "2026-01-02"))
    kept = weirctl(service, "dataset", "retention", "cli-made", "36500")
    forever = weirctl(service, "dataset", "retention", "cli-made", "--forever")
    refused = weirctl(service, "dataset", "delete", "cli-made", stdin="n\n")
    deleted = weirctl(service, "dataset", "delete", "cli-made", "--yes")

    assert created.stderr == "dataset cli-made created; its time is at\n"
    assert (info["timePartition"], info["firstEventAt"]) == ("at", "2026-01-02T03:04:05.000000000Z")
    assert (stats["name"], stats["events"], day["events"]) == ("cli-made", 1, 1)
    assert kept.stderr == "events of cli-made are kept 36500d\n"
    assert forever.stderr == "events of cli-made are kept for ever\n"
    assert (refused.returncode, "Dataset cli-made, 1 events, " in refused.stderr) == (130, True)
    assert deleted.returncode == 0
    assert weirctl(service, "dataset", "info", "cli-made").returncode == 1


def test_lookup_dataset_is_in_every_range(service: Service):
    weirctl(service, "dataset", "create", "cli-owners", "--lookup")
    service.ingest("cli-owners", {"host": "a", "owner": "ann"}).raise_for_status()

    found = weirctl(service, "query", 'SELECT owner FROM "cli-owners"', "--start", "2020-01-01", "--end", "2020-01-02")

    assert rows(found) == [{"owner": "ann"}]


def test_dataset_that_is_not_there_is_no_question(service: Service):
    done = weirctl(service, "dataset", "delete", "cli-nope")

    assert done.returncode == 1
    assert "Delete it?" not in done.stderr


def test_packed_file_with_its_own_time_is_ingested(service: Service, tmp_path: Path):
    file = tmp_path / "events.gz"
    file.write_bytes(gzip.compress(b'{"at": "2026-01-02T03:04:05Z"}\n{"at": "2026-01-02T03:04:06Z"}\n'))

    done = weirctl(service, "ingest", "cli-packed", str(file), "--time-field", "at")
    damaged = weirctl(service, "ingest", "cli-packed", "-", stdin="")

    assert done.stderr == "2 events are stored in cli-packed\n"
    assert damaged.stderr == "0 events are stored in cli-packed\n"
    (info,) = rows(weirctl(service, "dataset", "info", "cli-packed"))
    assert info["firstEventAt"] == "2026-01-02T03:04:05.000000000Z"


def test_damaged_packed_file_is_one_line(service: Service, tmp_path: Path):
    file = tmp_path / "events.gz"
    file.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:-12])

    done = weirctl(service, "ingest", "cli-damaged", str(file))

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "is damaged" in done.stderr


def test_line_of_bad_input_is_told(service: Service, tmp_path: Path):
    file = tmp_path / "events.ndjson"
    file.write_text('{"a": 1}\n' * 200_000 + '{"a": \n')

    done = weirctl(service, "ingest", "cli-bad", str(file))

    assert done.returncode == 1
    assert "line 200001 (lines before " in done.stderr


def test_error_of_a_query_shows_the_place_and_the_hint(service: Service):
    service.ingest("cli_columns", {"status": 200}).raise_for_status()

    done = weirctl(service, "query", "SELECT stauts\nFROM cli_columns")

    assert 'hint: Perhaps you meant to reference the column "cli_columns.status".' in done.stderr
    assert done.stderr.endswith("\n  SELECT stauts\n         ^\n")


def test_empty_statement_is_wrong_usage(service: Service):
    done = weirctl(service, "query", "")

    assert (done.returncode, "there is no SQL" in done.stderr) == (2, True)


def test_wrong_credentials_are_told_by_where_they_come_from(service: Service):
    wrong = weirctl(service, "--user", "admin:wrong", "key", "list")
    key = weirctl(service, "--api-key", "weir_wrong", "key", "list")
    nobody = weirctl(None, "key", "list", WEIRCTL_URL=service.url)

    assert "wrong user or password: user 'admin' (from the command line)" in wrong.stderr
    assert "does not take this API key (from the command line)" in key.stderr
    assert "wants to know who you are" in nobody.stderr


def test_profile_is_saved_and_used(service: Service, tmp_path: Path):
    home = {"XDG_CONFIG_HOME": str(tmp_path)}

    saved = weirctl(service, "profile", "save", **home)
    listed = rows(weirctl(None, "profile", "list", **home))
    used = weirctl(None, "query", "SELECT 1 AS a", **home)

    assert saved.returncode == 0
    assert listed == [{"name": "default", "url": service.url, "as": f"user {ADMIN[0]}", "tenant": None}]
    assert rows(used) == [{"a": 1}]
    assert (tmp_path / "weir" / "weirctl.toml").stat().st_mode & 0o777 == 0o600


def test_roles_of_a_user_are_added_removed_and_set(service: Service):
    for name in ("cli-one", "cli-two"):
        weirctl(service, "role", "put", name, "reader")
    weirctl(service, "user", "create", "cli-held")

    weirctl(service, "user", "role", "add", "cli-held", "cli-one", "cli-two")
    both = [each["role"] for each in rows(weirctl(service, "user", "role", "list", "cli-held"))]
    weirctl(service, "user", "role", "remove", "cli-held", "cli-one")
    one = [each["role"] for each in rows(weirctl(service, "user", "role", "list", "cli-held"))]
    weirctl(service, "user", "role", "set", "cli-held")
    none = rows(weirctl(service, "user", "role", "list", "cli-held"))

    assert (sorted(both), one, none) == (["cli-one", "cli-two"], ["cli-two"], [])


def test_dashboards_are_created_from_a_file(service: Service, tmp_path: Path):
    file = tmp_path / "dashboard.json"
    file.write_text(json.dumps({"title": "cli dashboard"}))

    (made,) = rows(weirctl(service, "dashboard", "create", str(file)))
    shown = json.loads(weirctl(service, "dashboard", "show", made["dashboardId"]).stdout)
    listed = rows(weirctl(service, "dashboard", "list"))
    deleted = weirctl(service, "dashboard", "delete", made["dashboardId"])

    assert shown["title"] == "cli dashboard"
    assert made["dashboardId"] in {each["dashboardId"] for each in listed}
    assert deleted.returncode == 0


def test_alerts_and_targets_are_listed_and_refused_in_words(service: Service, tmp_path: Path):
    file = tmp_path / "bad.json"
    file.write_text("{")

    assert rows(weirctl(service, "alert", "list")) is not None
    assert rows(weirctl(service, "target", "list")) is not None
    assert weirctl(service, "target", "create", str(file)).returncode == 2
    assert "not_found" in weirctl(service, "alert", "show", "nope").stderr


def test_running_queries_are_listed_and_cancelled(service: Service):
    assert rows(weirctl(service, "queries", "list")) == []

    done = weirctl(service, "queries", "cancel", "nope")

    assert (done.returncode, "query_not_found" in done.stderr) == (1, True)


def test_demo_fills_three_datasets_and_its_questions_run(service: Service):
    done = weirctl(service, "demo")

    assert done.returncode == 0, done.stderr
    for number, question in enumerate(QUESTIONS, 1):
        assert f'{number}. {question.text}\n   weirctl query "{question.sql}"' in done.stdout
        assert rows(weirctl(service, "query", question.sql)), question.text
    (first, *_) = rows(weirctl(service, "query", QUESTIONS[4].sql))
    assert first["service"] == "payment"
    (window,) = rows(weirctl(service, "query", "SELECT count(*) FROM demo_traces", "--start", "2h", "--end", "now"))
    assert window["count"] > 5000


def test_the_same_seed_makes_the_same_hour():
    end = datetime(2026, 1, 2, tzinfo=UTC)

    assert hour(7, end) == hour(7, end)
    assert hour(7, end) != hour(8, end)
    assert all("2026-01-01T23" <= each["start_time"] <= "2026-01-02T00:00:00.000Z" for each in hour(7, end)[TRACES])
