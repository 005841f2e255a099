"""Every snippet of the README does what the README says, in the order in which a new user meets them."""

import re
import subprocess
from pathlib import Path

from tests.running import ADMIN, ROOT, Service

README = (ROOT / "README.md").read_text("utf-8")
TESTED = re.compile(r"<!-- tested: first-five-minutes -->\n```sh\n(.*?)```\n(?:\n```(?:json)?\n(.*?)```)?", re.DOTALL)

# Debian and Ubuntu let pip install into a virtual environment only (PEP 668).
FIRST_COMMAND = "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt && gunicorn wsgi:app"


def tour(service: Service, credential: str) -> str:
    """What a new user types, for this server; a line `---` ends the output of each snippet."""
    script = "\n".join(f"{commands}\necho; echo ---" for commands, _ in TESTED.findall(README))
    return script.replace("http://127.0.0.1:8000", service.url).replace("admin:PASSWORD", credential)


def test_the_first_five_minutes_print_what_the_readme_shows(service: Service):
    steps = TESTED.findall(README)

    done = subprocess.run(["bash", "-euc", tour(service, ":".join(ADMIN))], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    printed = [part.strip() for part in done.stdout.split("---\n")]
    shown = [(index, expected.strip()) for index, (_, expected) in enumerate(steps) if expected]
    assert len(shown) == 3
    assert [printed[index] for index, _ in shown] == [expected for _, expected in shown]


def test_the_first_five_minutes_can_be_repeated(service: Service):
    script = tour(service, ":".join(ADMIN))

    done = [subprocess.run(["bash", "-euc", script], capture_output=True, text=True) for _ in range(2)]

    assert [(each.returncode, each.stderr) for each in done] == [(0, "")] * 2


def test_a_wrong_password_is_told_in_the_server_s_words(service: Service):
    """As typed into a terminal, where the shell goes on after an error."""
    done = subprocess.run(["bash", "-c", tour(service, "nobody:wrong")], capture_output=True, text=True)

    assert '"code":"unauthenticated"' in done.stdout
    assert "Traceback" not in done.stderr


def test_every_shell_snippet_is_tested_or_one_of_the_two_commands():
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    tested = [commands for commands, _ in TESTED.findall(README)]

    assert [block.strip() for block in blocks if block not in tested] == [
        FIRST_COMMAND,
        "pip install -r requirements-dev.txt && pytest -n 2",
    ]


def test_every_link_of_the_readme_leads_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)

    assert [link for link in links if not Path(ROOT, link).exists()] == []
