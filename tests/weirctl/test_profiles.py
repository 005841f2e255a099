"""Whose words count: command line, environment, profile; and what is kept of credentials."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from weirctl import profiles
from weirctl.client import Server
from weirctl.commands import group


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the configuration file, without one."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("URL", "USER", "API_KEY", "TENANT", "PROFILE"):
        monkeypatch.delenv(f"WEIRCTL_{name}", raising=False)
    file = tmp_path / "weir" / "weirctl.toml"
    file.parent.mkdir()
    return file


def write(file: Path, text: str, mode: int = 0o600) -> None:
    file.write_text(text)
    file.chmod(mode)


def called(*arguments: str, **environment: str) -> tuple[Server | None, Result]:
    """The server that a command was given."""
    seen: list[Server] = []

    @click.command("probe")
    @click.pass_obj
    def probe(server: Server) -> None:
        seen.append(server)

    group.add_command(probe)
    named = {f"WEIRCTL_{name.upper()}": value for name, value in environment.items()}
    result = CliRunner().invoke(group, [*arguments, "probe"], env=named)
    return (seen[0] if seen else None), result


def test_command_line_wins_over_environment(config: Path) -> None:
    server, _ = called("--api-key", "weir_x", user="ann:secret")

    assert server is not None
    assert (server.user, server.api_key) == (None, "weir_x")


def test_two_credentials_of_one_place_are_refused(config: Path) -> None:
    _, result = called(user="ann:secret", api_key="weir_x")

    assert result.exit_code == 2
    assert "not both (from the environment)" in result.output


def test_profile_is_used_when_nothing_else_is_said(config: Path) -> None:
    write(config, '[default]\nurl = "https://weir.example"\nuser = "ann:pass:word"\n[prod]\napi_key = "weir_p"\n')

    default, _ = called()
    prod, _ = called("--profile", "prod")

    assert default == Server("https://weir.example", ("ann", "pass:word"), given_by="from the profile")
    assert prod is not None
    assert (prod.url, prod.api_key) == (profiles.URL, "weir_p")


def test_credentials_of_a_profile_go_to_its_own_server_only(config: Path) -> None:
    write(config, '[default]\nurl = "https://weir.example"\nuser = "ann:secret"\n')

    server, _ = called("--url", "http://elsewhere.example")

    assert server == Server("http://elsewhere.example")


@pytest.mark.parametrize(
    ("text", "mode", "problem"),
    [
        ("[default]\n", 0o644, "chmod 600"),
        ("[default]\nurll = 'x'\n", 0o600, "'urll', which is none of"),
        ("url = 'x'\n", 0o600, "is a table of texts"),
        ("[default\n", 0o600, "weirctl.toml"),
    ],
)
def test_bad_files_are_refused_with_the_reason(config: Path, text: str, mode: int, problem: str) -> None:
    write(config, text, mode)

    _, result = called()

    assert result.exit_code == 2
    assert problem in result.output


def test_unknown_profile_is_named(config: Path) -> None:
    _, result = called("--profile", "prod")

    assert (result.exit_code, "no profile 'prod'" in result.output) == (2, True)


def test_url_without_scheme_is_explained(config: Path) -> None:
    _, result = called("--url", "127.0.0.1:8731")

    assert result.exit_code == 2
    assert "write http://127.0.0.1:8731 or https://127.0.0.1:8731" in result.output


def test_user_without_password_outside_of_a_terminal_is_wrong_usage(config: Path) -> None:
    _, result = called("--user", "admin")

    assert (result.exit_code, "NAME:PASSWORD" in result.output) == (2, True)


def test_what_is_written_is_read_again(config: Path) -> None:
    members = {"url": "http://a", "user": 'ann:"quoted" \\ back\tslash é 😀'}

    profiles._write({"a b": members})

    assert profiles.read() == {"a b": members}
    assert config.stat().st_mode & 0o777 == 0o600
