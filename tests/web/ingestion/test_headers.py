"""What the headers of a request say (spec 4.2, api.md sections 1 and 4)."""

import pytest
from werkzeug.test import create_environ

from errors import InvalidHeader, InvalidName, MissingHeader
from web.ingestion import headers as ingest_headers


def read(**headers: str) -> ingest_headers.IngestHeaders:
    return ingest_headers.read(
        create_environ(headers={name.replace("_", "-"): value for name, value in headers.items()})
    )


def test_header_names_have_no_case_and_values_no_surrounding_space():
    """collectd sends two spaces after the colon."""
    assert read(x_p_STREAM="  app ").stream == "app"


def test_other_x_p_headers_become_columns_and_known_ones_do_not():
    found = read(X_P_Stream="app", X_P_Tenant="t", X_P_Meta_Source="edge", X_P_Env="prod", X_Other="no")

    assert found.extra == {"meta-source": "edge", "env": "prod"}


def test_the_eleventh_column_header_is_refused():
    with pytest.raises(InvalidHeader, match="at most 10"):
        read(**{f"X_P_C{number}": "v" for number in range(11)})


def test_a_header_in_utf_8_is_read_as_such():
    assert read(X_P_City="Zürich".encode().decode("latin-1")).extra == {"city": "Zürich"}


def test_what_is_read_is_of_its_own_request_alone():
    """A sender's headers are remembered; its Idempotency-Key, extra columns and mistakes are not another's."""
    first = read(X_P_Stream="app", X_P_Env="prod", Idempotency_Key=" one ")

    assert (first.stream, dict(first.extra), first.idempotency_key) == ("app", {"env": "prod"}, "one")
    assert read(X_P_Stream="app", X_P_Env="prod") == first._replace(idempotency_key=None)
    assert read(X_P_Stream="app", X_P_Env="test").extra == {"env": "test"}
    with pytest.raises(TypeError):
        first.extra["env"] = "changed"
    for _ in range(2):
        with pytest.raises(InvalidHeader, match="Idempotency-Key"):
            read(X_P_Stream="app", Idempotency_Key="k" * 256)


def test_a_missing_stream_is_named():
    with pytest.raises(MissingHeader, match="X-P-Stream"):
        ingest_headers.require_stream(read())


@pytest.mark.parametrize(("sent", "error"), [({}, MissingHeader), ({"X_P_Log_Source": "otel-traces"}, InvalidHeader)])
def test_a_wrong_log_source_is_answered_with_the_right_one(sent: dict[str, str], error: type[Exception]):
    with pytest.raises(error, match="otel-logs"):
        ingest_headers.require_log_source(read(**sent), "otel-logs")


@pytest.mark.parametrize("name", ["app", "App-1", "a_b", "1", "x" * 100])
def test_dataset_name_is_accepted(name: str):
    assert ingest_headers.checked_dataset_name(name) == name


# Paths, SQL, white space, look-alikes (a Cyrillic а, a right-to-left override).
BAD_NAMES = ("", "x" * 101, "a b", "a.b", "../etc", "%2e%2e", "a/b", "a\\b", "a\0b", "naïve", "\u0430pp", "a,b")
WORSE_NAMES = ("select", "FROM", "p_timestamp", "P_x", "app\n", "\u202eapp")


@pytest.mark.parametrize("name", [*BAD_NAMES, *WORSE_NAMES])
def test_dataset_name_is_refused(name: str):
    """Dataset names of api.md section 3: nothing that a path, SQL or a reader's eye could take for something else."""
    with pytest.raises(InvalidName):
        ingest_headers.checked_dataset_name(name)


def test_an_unknown_telemetry_type_is_refused():
    with pytest.raises(InvalidHeader, match="logs, metrics, traces, events"):
        read(X_P_Telemetry_Type="profiles")


def test_an_overlong_idempotency_key_is_refused():
    with pytest.raises(InvalidHeader, match="255"):
        read(Idempotency_Key="k" * 256)
