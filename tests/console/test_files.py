"""The console's own files: what is vendored, how large the first view is, and that Node finds nothing wrong."""

import json
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tests.running import ROOT
from web import console_files

CONSOLE = ROOT / "console"
VENDOR = CONSOLE / "vendor"
TESTS = Path(__file__).parent / "js"
TSC = VENDOR / "source" / "node_modules" / ".bin" / "tsc"
NODE = shutil.which("node")
# Promised in docs/console.md.
LARGEST_FIRST_VIEW_BYTES = 200_000
MOST_LINES = 6_000


def own_modules() -> list[Path]:
    return [path for path in CONSOLE.rglob("*.js") if "vendor" not in path.parts]


def listed() -> dict[str, str]:
    lines = (VENDOR / "SHA256SUMS").read_text("utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def test_vendored_files_are_what_make_vendor_made():
    """Also of its sources: who changes one without building anew fails here."""
    assert {name: sha256((VENDOR / name).read_bytes()).hexdigest() for name in listed()} == listed()


def test_every_vendored_file_is_listed():
    there = {path.name for path in VENDOR.iterdir() if path.suffix in console_files.SERVED}

    assert there <= listed().keys()


def test_licences_of_all_bundled_packages_are_there():
    text = (VENDOR / "LICENSES.txt").read_text("utf-8")
    lock = json.loads((VENDOR / "source" / "package-lock.json").read_text("utf-8"))["packages"]
    named = set(json.loads((VENDOR / "source" / "package.json").read_text("utf-8"))["dependencies"])

    for name in named - {"@preact/signals"} | {"@preact/signals-core", "style-mod", "w3c-keyname"}:
        version = lock[f"node_modules/{name}"]["version"]
        assert f"{name} {version} (" in text


def test_lock_file_holds_a_checksum_of_every_package():
    lock = json.loads((VENDOR / "source" / "package-lock.json").read_text("utf-8"))["packages"]

    assert [name for name, entry in lock.items() if name and "integrity" not in entry] == []


def test_first_view_is_small():
    files = console_files.read()
    first = [*files.preloaded, "tokens.css", "style.css", "icon.svg", "vendor/plot.js", "vendor/plot.css"]

    assert sum(len(files.files[name].gzip) for name in first) + len(files.page) < LARGEST_FIRST_VIEW_BYTES


def test_first_view_preloads_what_it_imports():
    assert {"main.js", "vendor/core.js", "pages/explore.js", "parts/rows.js"} <= set(console_files.read().preloaded)
    assert "vendor/editor.js" not in console_files.read().preloaded


def test_own_modules_stay_few_and_small():
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in own_modules()}

    assert sum(lines.values()) < MOST_LINES
    written = {path: count for path, count in lines.items() if path.name != "functions.js"}
    assert max(written.values()) <= 250


def test_no_module_makes_markup_or_code_of_text():
    """Trusted Types would stop it in Chromium; this does everywhere."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function"
    )

    assert [path.name for path in own_modules() if forbidden.search(path.read_text("utf-8"))] == []


def test_no_file_names_another_origin():
    """But for addresses in text that is shown."""
    loads = re.compile(r"""(?:src|href|from|import|url)\s*[=(]?\s*["'(`]+https?://""")

    assert [path.name for path in own_modules() if loads.search(path.read_text("utf-8"))] == []


def test_digest_changes_with_any_file(tmp_path: Path):
    (tmp_path / "index.html").write_text("{{base}}")
    (tmp_path / "main.js").write_text('import { a } from "./lib/a.js";')
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.js").write_text("export const a = 1;")
    before = console_files.read(tmp_path)

    (tmp_path / "lib" / "a.js").write_text("export const a = 2;")

    assert before.preloaded == ("lib/a.js", "main.js")
    assert console_files.read(tmp_path).digest != before.digest


def test_tools_of_vendoring_are_not_served():
    assert [name for name in console_files.read().files if "source" in name or "node_modules" in name] == []


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
@pytest.mark.parametrize("path", sorted(TESTS.glob("*.test.js")), ids=lambda path: path.name)
def test_pure_modules(path: Path):
    done = subprocess.run([str(NODE), "--test", str(path)], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.skipif(not TSC.exists(), reason="TypeScript is not installed (npm ci in console/vendor/source)")
def test_types_of_modules():
    done = subprocess.run([str(TSC), "-p", str(CONSOLE)], capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stdout[-4000:]
