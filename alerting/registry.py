"""The kinds of targets that there are: every module of alerting.targets is one."""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from alerting import targets
from alerting.target_kind import TargetKind
from errors import InternalError, InvalidRequest

AnyKind = TargetKind[Any]


@cache
def kinds() -> Mapping[str, AnyKind]:
    """Every kind by its name, in the order of their names."""
    modules = [import_module(f"{targets.__name__}.{each.name}") for each in pkgutil.iter_modules(targets.__path__)]
    found: list[AnyKind] = [module.KIND for module in modules]
    return MappingProxyType({kind.name: kind for kind in sorted(found, key=lambda kind: kind.name.lower())})


def asked(body: object) -> AnyKind:
    """The kind that the body of a request names as `type`. Raises InvalidRequest."""
    name = body.get("type") if isinstance(body, Mapping) else None
    if not isinstance(name, str) or name not in kinds():
        raise InvalidRequest(f"`type`: Must be one of: {', '.join(kinds())}.", field="type")
    return kinds()[name]


def stored(name: str) -> AnyKind:
    """The kind of a stored target. Raises InternalError when a newer version made it."""
    if name not in kinds():
        raise InternalError(f"this version knows no targets of type {name}")
    return kinds()[name]
