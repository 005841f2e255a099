"""Reads the snippets of the manual that are marked `<!-- tested -->`, and runs them as a reader would."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tests.running import ADMIN, ROOT, Service

SNIPPET = re.compile(r"<!-- tested -->\n```(sh|python)\n(.*?)```\n(?:\n```(?:json|)\n(.*?)```)?", re.DOTALL)


@dataclass(frozen=True)
class Snippet:
    """A piece of a page; `shown` is the output that the page promises, if any."""

    language: str
    text: str
    shown: str


def snippets(page: Path) -> list[Snippet]:
    """The marked snippets of a page, in order. What one exports, the later ones have."""
    found = [Snippet(*each) for each in SNIPPET.findall(page.read_text("utf-8"))]
    exported = ""
    for index, each in enumerate(found):
        if each.language == "sh":
            found[index] = replace(each, text=exported + each.text)
            exported += "".join(f"{line}\n" for line in each.text.splitlines() if line.startswith("export "))
    return found


def run(snippet: Snippet, service: Service, directory: Path) -> str:
    """What it prints, when it succeeds, in a directory that the snippets of a page share."""
    text = snippet.text.replace("http://127.0.0.1:8000", service.url)
    text = text.replace("admin:PASSWORD", ":".join(ADMIN)).replace('"PASSWORD"', f'"{ADMIN[1]}"')
    command = ["bash", "-euo", "pipefail", "-c", text] if snippet.language == "sh" else [sys.executable, "-c", text]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
