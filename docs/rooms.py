"""Prints the tables of docs/decisions/layout.md: `python docs/rooms.py`, or `python docs/rooms.py e6e71fa` of a commit.

A room is a folder of the top level, or one inside it; a module beside such folders is a room of its own.
"""

import ast
import io
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Not the product.
OTHERS = {"tests", "bench", "docs", "deploy", "data"}
# It imports every module of functions, so that they are found; that is no floor of its own.
REGISTERS = {"query.functions"}


@dataclass(frozen=True)
class Layout:
    """The modules of the product with their sources."""

    sources: Mapping[str, str]

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules that each imports, also under TYPE_CHECKING."""
        found = {module: set(_imported(ast.parse(source))) for module, source in self.sources.items()}
        return {
            module: {self._module(name) for name in names} & self.sources.keys() - {module} - REGISTERS
            for module, names in found.items()
        }

    def _module(self, name: str) -> str:
        """The module that a name is imported from: `a.b.c` is a module, or what module `a.b` defines."""
        return name if name in self.sources else name.rpartition(".")[0]

    def room(self, module: str) -> str:
        return ".".join(module.split(".")[:2])

    @cached_property
    def rooms(self) -> dict[str, tuple[int, int]]:
        """Modules and lines, by room; single modules on top of a folder are counted with the folder."""
        folders = {self.room(module) for module in self.sources if module.count(".") > 1}
        counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for module, source in self.sources.items():
            name = self.room(module) if self.room(module) in folders else module.split(".")[0]
            modules, lines = counts[name]
            counts[name] = modules + 1, lines + source.count("\n")
        return dict(sorted(counts.items()))

    @cached_property
    def arrows(self) -> set[tuple[str, str]]:
        """Which room imports from which."""
        pairs = {(self.room(module), self.room(name)) for module in self.imports for name in self.imports[module]}
        return {(upper, lower) for upper, lower in pairs if upper != lower}

    @cached_property
    def arrows_on_top(self) -> set[tuple[str, str]]:
        """Which folder, or module, of the top level imports from which."""
        pairs = {(upper.split(".")[0], lower.split(".")[0]) for upper, lower in self.arrows}
        return {(upper, lower) for upper, lower in pairs if upper != lower}

    def arrows_within(self, package: str) -> int:
        return sum(all(room.split(".")[0] == package for room in arrow) for arrow in self.arrows)

    @cached_property
    def rings_of_rooms(self) -> list[set[str]]:
        below: dict[str, set[str]] = defaultdict(set)
        for upper, lower in self.arrows:
            below[upper].add(lower)
        return _rings(below)

    @cached_property
    def longest_chain(self) -> int:
        """The modules of the longest chain of imports. A ring is passed once, through all of it."""
        rings = {module: frozenset(ring) for ring in _rings(self.imports) for module in ring}
        lengths: dict[frozenset[str], int] = {}

        def length(module: str) -> int:
            ring = rings.get(module, frozenset({module}))
            if ring not in lengths:
                below = {name for member in ring for name in self.imports[member]} - ring
                lengths[ring] = len(ring) + max(map(length, below), default=0)
            return lengths[ring]

        return max(map(length, self.sources.keys() - REGISTERS))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _rings(below: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of nodes that reach each other."""
    reached = {node: _reached(node, below) for node in below}
    rings = {frozenset(other for other in reached[node] if node in reached.get(other, ())) for node in below}
    return [set(ring) for ring in rings if ring]


def _reached(node: str, below: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(below[node])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += below.get(name, ())
    return found


def layout_of(files: Mapping[str, str]) -> Layout:
    """The layout of these sources, by path."""
    product = {path: text for path, text in files.items() if path.split("/")[0] not in OTHERS}
    return Layout({path[:-3].replace("/", ".").removesuffix(".__init__"): text for path, text in product.items()})


def present() -> Layout:
    """That of the checkout."""
    packages = [path.parent for path in ROOT.glob("*/__init__.py")]
    paths = [*ROOT.glob("*.py"), *(path for package in packages for path in package.rglob("*.py"))]
    return layout_of({str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths})


def of_commit(commit: str) -> Layout:
    """That of a commit, which has to be in the clone."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [member for member in tar if member.isfile() and member.name.endswith(".py")]
        texts = {member.name: tar.extractfile(member) for member in members}
        return layout_of({name: file.read().decode() for name, file in texts.items() if file is not None})


def rooms_table(layout: Layout) -> str:
    """A row for each room."""
    rows = [f"| {room} | {modules} | {lines:,} |" for room, (modules, lines) in layout.rooms.items()]
    return "\n".join(["| room | modules | lines |", "|---|---|---|", *rows])


def counts(layout: Layout) -> dict[str, int]:
    """What the layout is judged by."""
    return {
        "rings of rooms": len(layout.rings_of_rooms),
        "rings of modules": len(_rings(layout.imports)),
        "longest chain of imports": layout.longest_chain,
        "imports between folders of the top level": len(layout.arrows_on_top),
        "imports between rooms of `query`": layout.arrows_within("query"),
        "imports between rooms of `storage`": layout.arrows_within("storage"),
        "modules": len(layout.sources),
        "lines": sum(source.count("\n") for source in layout.sources.values()),
    }


if __name__ == "__main__":
    shown = of_commit(sys.argv[1]) if len(sys.argv) > 1 else present()
    print("\n".join(f"| {name} | {count:,} |" for name, count in counts(shown).items()))
    print(rooms_table(shown))
