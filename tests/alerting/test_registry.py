"""The kinds of targets are found where they lie, and the manual names each."""

import pytest

from alerting import registry
from alerting.target_kind import TargetKind
from errors import InvalidRequest
from tests.running import ROOT


def test_every_module_of_the_folder_is_a_kind():
    modules = {path.stem for path in (ROOT / "alerting" / "targets").glob("[a-z]*.py")}

    assert len(registry.kinds()) == len(modules) >= 5
    assert all(isinstance(each, TargetKind) for each in registry.kinds().values())
    assert {name.lower() for name in registry.kinds()} == modules


def test_no_module_outside_names_a_kind():
    """A new kind is one new file: nothing else of the product asks which one a target is."""
    files = [ROOT / path for path in ("models/target.py", "schemas/targets.py", "blueprints/targets.py")]
    files += (ROOT / "alerting").glob("*.py")

    named = {(path.name, kind) for path in files for kind in registry.kinds() if f'"{kind}"' in path.read_text()}

    assert named == set()


@pytest.mark.parametrize("kind", registry.kinds())
def test_manual_shows_how_a_target_of_each_kind_is_made(kind: str):
    assert f'"type": "{kind}"' in (ROOT / "docs" / "alerts.md").read_text("utf-8")


@pytest.mark.parametrize("body", [None, [], {}, {"type": 1}, {"type": []}, {"type": "pager"}])
def test_unknown_kind_is_refused_with_those_that_there_are(body: object):
    with pytest.raises(InvalidRequest, match="alertManager, email, pagerDuty, slack, webhook") as refused:
        registry.asked(body)

    assert refused.value.details["field"] == "type"
