"""Where the server is and as whom to call it: the command line before the environment before the configuration file.

The file is `~/.config/weir/weirctl.toml`: a table for each profile, with `url`, `user` or `api_key`, and `tenant`.
"""

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from weirctl.client import Server
from weirctl.printing import note, show

URL: Final = "http://127.0.0.1:8000"
DEFAULT: Final = "default"
MEMBERS: Final = ("url", "user", "api_key", "tenant")
_STRENGTH: Final = {ParameterSource.COMMANDLINE: 3, ParameterSource.ENVIRONMENT: 2}
_GIVEN: Final = {3: "from the command line", 2: "from the environment", 1: "from the profile"}
Profile = Mapping[str, str]


def server_of(context: click.Context) -> Server:
    """The server that the options, the environment and the profile describe. Raises UsageError."""
    given = {name: str(context.params[name]) for name in MEMBERS if context.params[name]}
    strength = {name: _STRENGTH.get(context.get_parameter_source(name) or ParameterSource.DEFAULT, 2) for name in given}
    profile = _profile(context.params["profile"])
    if "url" in given and profile.get("url", given["url"]) != given["url"]:
        # The credentials of one server are nothing that another one should get.
        profile = {}
    values = {**profile, **given}
    strength = {**dict.fromkeys(profile, 1), **strength}
    credential = _credential(strength)
    user = _user(values["user"]) if credential == "user" else None
    return Server(
        url=_url(values.get("url", URL)),
        user=user,
        api_key=values["api_key"] if credential == "api_key" else None,
        tenant=values.get("tenant"),
        given_by=_GIVEN[strength[credential]] if credential else None,
    )


def _credential(strength: Mapping[str, int]) -> str | None:
    """Which of user and key counts: the one that was said louder."""
    said = sorted((strength[name], name) for name in ("user", "api_key") if name in strength)
    if len(said) == 2 and said[0][0] == said[1][0]:
        raise click.UsageError(f"give --user or --api-key, not both ({_GIVEN[said[0][0]]})")
    return said[-1][1] if said else None


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise click.UsageError(f"--url is {text!r}: write http://{text} or https://{text}")
    return text


def _user(text: str) -> tuple[str, str]:
    name, colon, password = text.partition(":")
    if not colon and not sys.stdin.isatty():
        raise click.UsageError("--user is NAME:PASSWORD")
    return name, password if colon else click.prompt(f"Password of {name}", hide_input=True, err=True)


# --- the file -----------------------------------------------------------------------------------------------------


def path() -> Path:
    """The configuration file."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "weir" / "weirctl.toml"


def read() -> dict[str, dict[str, str]]:
    """All profiles. Raises UsageError for a file that others may read or that is none of ours."""
    try:
        file = path()
        if file.stat().st_mode & 0o077:
            raise click.UsageError(f"others may read {file}, which holds passwords: chmod 600 {file}")
        found = tomllib.loads(file.read_text("utf-8"))
    except (FileNotFoundError, PermissionError, RuntimeError):
        # A service's account may have no home, or none that it may look into.
        return {}
    except (ValueError, OSError) as error:
        raise click.UsageError(f"{file}: {error}") from error
    for name, members in found.items():
        _check(file, name, members)
    return found


def _check(file: Path, name: str, members: object) -> None:
    if not isinstance(members, dict) or not all(isinstance(value, str) for value in members.values()):
        raise click.UsageError(f"{file}: [{name}] is a table of texts: {', '.join(MEMBERS)}")
    unknown = sorted(set(members) - set(MEMBERS))
    if unknown:
        raise click.UsageError(f"{file}: [{name}] has {unknown[0]!r}, which is none of {', '.join(MEMBERS)}")


def _profile(name: str | None) -> Profile:
    found = read()
    if name is not None and name not in found:
        raise click.UsageError(f"there is no profile {name!r} in {path()}")
    return found.get(name or DEFAULT, {})


def _write(profiles: Mapping[str, Profile]) -> None:
    """The file anew, with its final permissions from the first byte on."""
    file = path()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A string of JSON is one of TOML too.
    lines = (
        f"[{json.dumps(name)}]\n"
        + "".join(f"{member} = {json.dumps(value, ensure_ascii=False)}\n" for member, value in members.items())
        for name, members in profiles.items()
    )
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write("\n".join(lines))
    fresh.replace(file)


@click.group("profile")
def group() -> None:
    """Servers and credentials that are kept in a file: save, list, delete."""


@group.command("save")
@click.argument("name", default=DEFAULT)
@click.pass_obj
def save(server: Server, name: str) -> None:
    """Keep the server and credentials of this call as the profile NAME, once the server has taken them."""
    server.call("GET", "/api/v1/logstream")
    members = {
        "url": server.url,
        "user": ":".join(server.user) if server.user else None,
        "api_key": server.api_key,
        "tenant": server.tenant,
    }
    _write({**read(), name: {member: value for member, value in members.items() if value}})
    note(f"profile {name} is kept in {path()}")


@group.command("list")
def list_all() -> None:
    """The profiles, without passwords and secrets."""
    show([_shown(name, members) for name, members in read().items()], ["name", "url", "as", "tenant"])


@group.command("delete")
@click.argument("name")
def delete(name: str) -> None:
    """Forget a profile."""
    found = read()
    if name not in found:
        raise click.UsageError(f"there is no profile {name!r} in {path()}")
    _write({each: members for each, members in found.items() if each != name})


def _shown(name: str, members: Profile) -> dict[str, str | None]:
    user = members.get("user", "").partition(":")[0]
    return {
        "name": name,
        "url": members.get("url"),
        "as": f"user {user}" if user else f"key ****{members.get('api_key', '')[-4:]}",
        "tenant": members.get("tenant"),
    }
