"""The files of deploy/ fit each other, the settings and the manual, as far as that can be told without running them."""

import json
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from config import Settings, variable
from metrics.meters import Meters
from tests.running import ROOT
from tests.test_layering import MAY_IMPORT

DEPLOY = ROOT / "deploy"
GRAFANA = DEPLOY / "grafana"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
KUBERNETES = DEPLOY / "kubernetes.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
INSTRUCTIONS = frozenset("FROM WORKDIR COPY RUN ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK CMD".split())


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's, in order: word and arguments."""
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_every_setting_that_a_deployment_file_sets_is_one():
    known = {variable(each.name) for each in fields(Settings)}
    # These are Grafana's own environment.
    grafana = {"WEIR_URL", "WEIR_API_KEY", "WEIR_POSTGRESQL", "WEIR_METRICS"}

    for path in [path for path in DEPLOY.rglob("*") if path.is_file()]:
        named = set(re.findall(r"\bWEIR_[A-Z_]+", path.read_text("utf-8")))
        assert named <= known | (grafana if GRAFANA in path.parents else set()), path


def test_image_is_built_from_what_is_there_and_does_not_run_as_root():
    found = instructions()

    assert {word for word, _ in found} <= INSTRUCTIONS
    sources = [rest.split()[0] for word, rest in found if word == "COPY" and not rest.startswith("--from")]
    assert all((ROOT / each).exists() for each in sources)
    words = [word for word, _ in found]
    assert words.index("USER") < words.index("CMD")
    assert dict(found)["USER"] == "weir"
    assert json.loads(dict(found)["CMD"])[:2] == ["gunicorn", "wsgi:app"]


def test_health_of_the_image_is_asked_by_a_program_that_compiles():
    command = json.loads(dict(instructions())["HEALTHCHECK"].partition("CMD ")[2])

    compile(command[2], "HEALTHCHECK", "exec")
    assert "/api/v1/readiness" in command[2]


def test_image_has_what_runs_and_nothing_else():
    """All is left out but what is named, so that neither passwords nor data get there by being forgotten."""
    lines = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not line.startswith("#")]
    packages = {name for name in MAY_IMPORT if (ROOT / name).is_dir()}

    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == packages | {"requirements.lock", "*.py", "console"}
    # What comes last wins.
    assert lines.index("**/.env") > max(index for index, line in enumerate(lines) if line.startswith("!"))


@pytest.mark.parametrize("path", [".env", "deploy/.env", "alerting/.env"])
def test_passwords_of_a_deployment_are_no_part_of_the_repository(path: str):
    asked = subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT)

    assert asked.returncode == 0


def test_services_that_run_for_ever_come_back_and_have_a_limit():
    services = COMPOSE["services"]

    assert {name: each["restart"] for name, each in services.items()} == {
        **dict.fromkeys(services, "unless-stopped"),
        "bucket": "on-failure",
    }
    assert all(re.fullmatch(r"\d+[mg]", each["mem_limit"]) for each in services.values())


def test_kubernetes_takes_the_manifest():
    objects = list(yaml.safe_load_all(KUBERNETES.read_text("utf-8")))

    for each in objects:
        kubernetes_validate.validate(each, "1.32", strict=True)
    assert [each["kind"] for each in objects] == ["Service", "ConfigMap", "StatefulSet"]


def test_pod_runs_what_the_image_is():
    service, _, stateful = yaml.safe_load_all(KUBERNETES.read_text("utf-8"))
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    image = dict(instructions())

    assert container["ports"] == [{"name": "http", "containerPort": int(image["EXPOSE"])}]
    assert container["volumeMounts"][0]["mountPath"] == image["VOLUME"]
    assert f"--uid {stateful['spec']['template']['spec']['securityContext']['runAsUser']} " in DOCKERFILE
    assert service["spec"]["selector"] == stateful["spec"]["template"]["metadata"]["labels"]
    # Kubernetes would set WEIR_PORT and others to the service's address, and unknown settings stop the start.
    assert stateful["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_every_rule_has_a_severity_and_the_outage_is_among_them():
    (group,) = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text("utf-8"))["groups"]

    assert {rule["labels"]["severity"] for rule in group["rules"]} == {"critical", "warning"}
    assert {"WeirIsDown", "WeirGetsNoEvents"} <= {rule["alert"] for rule in group["rules"]}


def test_services_of_the_compose_file_refer_to_each_other():
    services = COMPOSE["services"]

    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= set(services), name
        for volume in service.get("volumes", ()):
            assert volume.partition(":")[0] in COMPOSE["volumes"], volume
    build = services["weir"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


def test_every_image_is_named_by_an_exact_version():
    """A moving tag is another program tomorrow."""
    based = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    images = [*based, *(each["image"] for each in COMPOSE["services"].values() if "image" in each)]

    assert len(images) >= 5
    assert [
        image for image in images if not re.search(r":\d+\.\d+(\.\d+)?(-[a-z]+)?(@sha256:[0-9a-f]{64})?$", image)
    ] == []


def test_no_image_is_one_whose_maintainer_has_stopped():
    assert "minio" not in (DEPLOY / "compose.yaml").read_text("utf-8")


def test_account_of_the_bucket_reaches_nothing_else():
    known = json.loads(COMPOSE["configs"]["s3"]["content"])["identities"]

    assert [each["credentials"][0]["accessKey"] for each in known] == ["weir"]
    assert COMPOSE["services"]["weir"]["environment"]["AWS_ACCESS_KEY_ID"] == "weir"
    assert {action.partition(":")[2] for action in known[0]["actions"]} == {"weir"}
    assert COMPOSE["services"]["weir"]["environment"]["WEIR_STORAGE_URL"].startswith("s3://weir/")


@pytest.mark.parametrize("path", ["deploy/Dockerfile", ".ci/run"])
def test_packages_are_installed_by_their_hashes(path: str):
    installs = [line for line in (ROOT / path).read_text("utf-8").splitlines() if re.search(r"pip install.* -r ", line)]

    assert installs
    assert all("--require-hashes" in line and ".lock" in line for line in installs)


def test_every_password_of_the_compose_file_is_asked_for_by_the_manual():
    wanted = set(re.findall(r"\$\{([A-Z0-9_]+):\?\}", (DEPLOY / "compose.yaml").read_text("utf-8")))
    made = re.search(r"for name in ([A-Z0-9_ ]+); do", (ROOT / "docs" / "deployment.md").read_text("utf-8"))

    assert made is not None
    assert set(made[1].split()) == wanted


def test_panels_ask_a_data_source_that_is_provisioned_where_it_is_told_to_be():
    provisioned = {each["uid"]: each for each in _datasources(GRAFANA / "provisioning" / "datasources" / "weir.yaml")}

    for path in (GRAFANA / "dashboards").glob("*.json"):
        for panel in json.loads(path.read_text("utf-8"))["panels"]:
            source = provisioned[panel["datasource"]["uid"]]
            assert source["type"] == panel["datasource"]["type"]
            assert source["url"] == "$WEIR_URL"
            assert source["jsonData"]["allowedHosts"] == ["$WEIR_URL"]
            assert all(target["url"].startswith("/api/v1/") for target in panel["targets"])


def test_both_data_sources_send_the_key_as_a_secret():
    infinity, parseable = (
        _datasources(path)[0]
        for path in (GRAFANA / "provisioning" / "datasources" / "weir.yaml", GRAFANA / "parseable" / "weir.yaml")
    )

    assert (infinity["jsonData"]["apiKeyKey"], infinity["secureJsonData"]["apiKeyValue"]) == (
        "X-API-Key",
        "$WEIR_API_KEY",
    )
    assert (parseable["jsonData"]["httpHeaderName1"], parseable["secureJsonData"]["httpHeaderValue1"]) == (
        "X-API-Key",
        "$WEIR_API_KEY",
    )


@pytest.mark.parametrize("page", ["deploy/prometheus/rules.yml", "docs/operations.md"])
def test_every_metric_that_is_named_is_exported(page: str):
    """Gauges are looked up in the source, since they need a service to have a value."""
    gauges = re.findall(r'Gauge\(\s*"(\w+)"', (ROOT / "blueprints" / "metrics.py").read_text("utf-8"))
    counted = [each.name.removeprefix("weir_") for each in Meters().registry.collect()]
    known = {f"weir_{name}{suffix}" for name in [*gauges, *counted] for suffix in ("", "_total", "_sum", "_count")}

    assert set(re.findall(r"\bweir_[a-z_]+", (ROOT / page).read_text("utf-8"))) <= known


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_rules_fire_when_weir_is_down_and_when_no_events_arrive():
    command = ["promtool", "test", "rules", str(DEPLOY / "prometheus" / "rules_test.yml")]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_rules_are_ones_that_prometheus_takes():
    command = ["promtool", "check", "rules", str(DEPLOY / "prometheus" / "rules.yml")]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def _datasources(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load(path.read_text("utf-8"))["datasources"])
