"""Every snippet of the README does what the README says, in the order in which a new user meets them."""

import re
import subprocess
from pathlib import Path

from tests.running import ADMIN, ROOT, Service

README = (ROOT / "README.md").read_text("utf-8")
TESTED = re.compile(r"<!-- tested: first-five-minutes -->\n```sh\n(.*?)```\n(?:\n```(?:json)?\n(.*?)```)?", re.DOTALL)

# Debian and Ubuntu let pip install into a virtual environment only (PEP 668).
FIRST_COMMAND = "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt && gunicorn wsgi:app"


def test_the_first_five_minutes_print_what_the_readme_shows(service: Service):
    steps = TESTED.findall(README)
    script = "\n".join(f"{commands}\necho; echo ---" for commands, _ in steps)
    script = script.replace("http://127.0.0.1:8000", service.url).replace("admin:PASSWORD", ":".join(ADMIN))

    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    printed = [part.strip() for part in done.stdout.split("---\n")]
    shown = [(index, expected.strip()) for index, (_, expected) in enumerate(steps) if expected]
    assert len(shown) == 3
    assert [printed[index] for index, _ in shown] == [expected for _, expected in shown]


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
