"""The functions around a view (before_request, after_request), in the order in which Flask calls them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flask import Flask


class Hooks(NamedTuple):
    """Those of one endpoint: of its blueprints and of the application."""

    before: Sequence[Callable[[], Any]]
    after: Sequence[Callable[[Any], Any]]


def hooks_of(app: Flask, blueprints: Sequence[str]) -> Hooks:
    """For an endpoint of these blueprints, the innermost first. Flask lets no more be added after the first request."""
    outward = (*blueprints, None)
    return Hooks(
        before=[function for name in reversed(outward) for function in app.before_request_funcs.get(name, ())],
        after=[function for name in outward for function in reversed(app.after_request_funcs.get(name, ()))],
    )
