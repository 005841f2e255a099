"""docs/decisions/serving.md names all that serving/ takes from the inside of a library, and it is still there."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "decisions" / "serving.md"
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "serving").rglob("[!_]*.py")
)
LIBRARIES = ("flask", "gunicorn", "prometheus_client", "werkzeug")
# What is imported from these is no documented interface, whatever its name.
UNDOCUMENTED = ("gunicorn.", "prometheus_client.values", "prometheus_client.mmap_dict")


class Attribute(NamedTuple):
    """A row's path, as `library.module:Class.name`, with the distribution and version it was read in."""

    path: str
    distribution: str
    version: str

    @property
    def name(self) -> str:
        return re.split(r"[.:]", self.path)[-1]


def listed() -> list[Attribute]:
    rows = re.findall(r"^\| (`.*?`) \| (\w+) (\d[\d.]*) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return [Attribute(path, *read_in) for paths, *read_in in rows for path in re.findall("`(.*?)`", paths)]


def is_there(path: str) -> bool:
    """Whether a class has the attribute, or its code or that of a base sets it on an instance."""
    module, _, names = path.partition(":")
    owner, _, name = names.rpartition(".")
    holder = resolve_name(f"{module}:{owner}") if owner else import_module(module)
    if hasattr(holder, name) or not inspect.isclass(holder):
        return hasattr(holder, name)
    bases = [base for base in inspect.getmro(holder) if base.__module__ != "builtins"]
    return any(re.search(rf"self\.{name}\b[^=]*=[^=]", inspect.getsource(base)) for base in bases)


def classes() -> Iterator[type]:
    for name in MODULES:
        module = import_module(name)
        yield from (member for member in vars(module).values() if inspect.isclass(member) and member.__module__ == name)


def overridden() -> set[str]:
    """Private names of library classes that a class of ours has too."""
    return {
        name
        for cls in classes()
        for name in vars(cls)
        if re.match("_[^_]", name)
        for base in inspect.getmro(cls)[1:]
        if base.__module__.startswith(LIBRARIES) and name in vars(base)
    }


def used() -> set[str]:
    """Private names that are looked up on something, and that no class of ours defines."""
    nodes = [node for name in MODULES for node in ast.walk(ast.parse(inspect.getsource(import_module(name))))]
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr)]
    ours = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
    ours |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    ours |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return {node.attr for node in attributes} - ours


def imported() -> set[str]:
    """The names that are imported from modules that no library documents."""
    nodes = [node for name in MODULES for node in ast.walk(ast.parse(inspect.getsource(import_module(name))))]
    return {
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(UNDOCUMENTED)
        for alias in node.names
    }


@pytest.mark.parametrize("attribute", listed(), ids=lambda attribute: attribute.path)
def test_attribute_is_there_in_the_version_it_was_read_in(attribute: Attribute):
    """Another major version has to be read again: then the page names it."""
    assert version(attribute.distribution).split(".")[0] == attribute.version.split(".")[0]
    assert is_there(attribute.path)


def test_every_private_attribute_is_listed():
    # os._exit is documented by Python itself.
    assert (used() | overridden()) - {"_exit"} <= {attribute.name for attribute in listed()}


def test_everything_from_undocumented_modules_is_listed():
    names = {name for attribute in listed() for name in re.split(r"[.:]", attribute.path)}

    assert imported() <= names
