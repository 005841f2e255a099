"""Every snippet of the manual that can run is run, and prints what the page says; every link leads somewhere."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.conftest import NewDatabase, service_environment
from tests.recipes import run, snippets
from tests.running import ROOT, Service

PAGES = sorted(path for path in (ROOT / "docs").glob("*.md"))
DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="module")
def manual_service(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that no other test fills: pages use the names of datasets that everybody uses."""
    with new_database() as url:
        running = Service(tmp_path_factory.mktemp("manual"), service_environment(url)).start()
        yield running
        running.stop()


@pytest.fixture
def empty_service(manual_service: Service) -> Service:
    """Without datasets, as the reader of one page finds it; another page may have made one of the same name."""
    for dataset in manual_service.call("GET", "/api/v1/logstream").json():
        manual_service.call("DELETE", f"/api/v1/logstream/{dataset['name']}")
    return manual_service


@pytest.mark.service
@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.stem)
def test_snippets_print_what_the_page_shows(empty_service: Service, page: Path, tmp_path: Path):
    for snippet in snippets(page):
        printed = run(snippet, empty_service, tmp_path)

        assert not snippet.shown or printed.strip() == snippet.shown.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path):
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_configuration_snippets_can_be_parsed(page: Path):
    text = page.read_text("utf-8")

    for found in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        assert yaml.safe_load(found)
    for found in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        assert tomllib.loads(found)
    for found in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        for line in [found] if found.count("\n{") == 0 else found.splitlines():
            json.JSONDecoder().raw_decode(line)


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.y*ml")), ids=lambda path: str(path.relative_to(DEPLOY)))
def test_deployment_file_is_yaml(path: Path):
    assert all(yaml.safe_load_all(path.read_text("utf-8")))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_unit_is_one_that_systemd_takes(tmp_path: Path):
    unit = tmp_path / "weir.service"
    text = (DEPLOY / "weir.service").read_text("utf-8")
    unit.write_text(text.replace("/opt/weir/.venv/bin/gunicorn", "/bin/true"))

    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_proxy_configuration_is_one_that_nginx_takes(tmp_path: Path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=weir.example"]
    subprocess.run(["openssl", *new, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    text = text.replace("/etc/ssl/certs/weir.example.pem", str(certificate))
    text = text.replace("/etc/ssl/private/weir.example.key", str(key))
    main = tmp_path / "nginx.conf"
    main.write_text(f"pid {tmp_path}/nginx.pid;\nevents {{}}\nhttp {{\n{text}\n}}\n")

    done = subprocess.run(["nginx", "-t", "-c", str(main), "-e", "stderr"], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
