"""The manual is complete: settings, error codes and generated pages. The code keeps to its words."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

import errors
from config import Settings, variable
from docs import generate, licences

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DEFINED = re.compile(r"^ *(?:class|(?:async )?def) (\w+)", re.MULTILINE)
NOT_THE_PRODUCT = {"bench", "docs", "tests"}
# Private words that the glossary's words have replaced, and participles that name nothing.
RETIRED = frozenset(
    """
    Among Attendance Combine Crew Duties Exchange Form Found Gathering Keeping Lookup Memory Narrowing Once Own Pack
    Parts Pile Place Places Prepared Rare Reading Receipt Reception Remembered Rounds Run Shapes Shared Small Staged
    Tail Tails Verdict Walked EvaluationLimits Water
    account attendance attended beyond census contenders departure duty every extended farewell form_of headline hear
    judge keeping lane owned piled piles places receipt reviver says spelled stage to_few waiter walked widened
    _asked _ends _fresh _likeness _proven _tail _tails _tried _widened
    """.split()
)


@pytest.mark.parametrize("name", [variable(each.name) for each in fields(Settings)])
def test_setting_is_documented(name: str):
    assert f"| `{name}` |" in (DOCS / "configuration.md").read_text("utf-8")


@pytest.mark.parametrize("page", sorted(generate.pages()), ids=lambda page: page.name)
def test_generated_part_is_fresh(page: Path):
    """`make docs` writes it."""
    assert page.read_text("utf-8") == generate.pages()[page]


def test_every_error_has_a_sentence_and_a_code_of_its_own():
    leaves = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.WeirError)]

    assert [each.__name__ for each in leaves if "code" not in vars(each) or not vars(each).get("__doc__")] == []
    assert len({each.code for each in leaves}) == len(leaves)


def test_every_requirement_has_its_licence_listed():
    assert {canonicalize_name(each.name) for each in licences.required()} <= set(licences.listed())
    assert "see its files" not in licences.PAGE.read_text("utf-8")


def test_everything_that_the_requirements_bring_along_is_listed():
    """As far as what is installed here is what the page was written from; a newer version may need something else."""
    installed = {each.name: each.version for each in licences.packages()}
    if any(licences.listed()[name] != version for name, version in installed.items() if name in licences.listed()):
        pytest.skip("other versions are installed than docs/licences.md lists: `make docs` writes it anew")

    assert set(installed) <= set(licences.listed())


def test_retired_words_stay_retired():
    """docs/glossary.md: one word, one meaning."""
    sources = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in NOT_THE_PRODUCT]
    names = [(path.name, name) for path in sources for name in DEFINED.findall(path.read_text("utf-8"))]

    assert len(sources) > 100
    assert [(module, name) for module, name in names if name in RETIRED] == []
