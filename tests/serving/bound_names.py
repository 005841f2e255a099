"""Prints what each name of each module is bound to once the application is imported: `bound_names.py worker|master`.

By a worker alone, or by the master and then a worker.
"""

import json
import subprocess
import sys
from types import BuiltinFunctionType, FunctionType
from typing import Any

# gunicorn imports these, and subprocess, before.
import gunicorn.arbiter
import gunicorn.workers.ggevent  # noqa: F401
from gevent import monkey

OF_NO_INTEREST = ("gevent", "__main__", "serving.preloading")
FUNCTIONS = (FunctionType, BuiltinFunctionType)


def load(by: str) -> None:
    if by == "worker":
        monkey.patch_all()
        import app  # noqa: F401
        import serving.shared_counters  # noqa: F401
    else:
        # gunicorn.conf.py has imported these before.
        import logs  # noqa: F401
        import preflight  # noqa: F401
        import processes.forked  # noqa: F401
        from serving import preloading

        preloading.load("app", "serving.shared_counters")
        preloading.finish()
        # Of gunicorn and of wsgi.py.
        monkey.patch_all()
        monkey.patch_all()


def described(value: object) -> list[str]:
    """A class by all that it is derived from, a function by its name, anything else by its class.

    Asks the value itself nothing: a proxy of Flask's would answer that there is no request.
    """
    kind = type(value)
    if issubclass(kind, type):
        return [qualified(each) for each in kind.mro(value)]
    return [qualified(value if kind in FUNCTIONS else kind)]


def qualified(value: Any) -> str:
    module = value.__module__ if isinstance(value.__module__, str) else ""
    return f"{module}.{value.__qualname__}"


def main() -> None:
    load(sys.argv[1])
    # gevent's hooks for forks say on standard error what they do not expect.
    subprocess.run(["true"], check=True)
    modules = {name: module for name, module in sys.modules.items() if not name.startswith(OF_NO_INTEREST)}
    found = {
        f"{module}.{name}": described(value)
        for module, content in modules.items()
        for name, value in getattr(content, "__dict__", {}).items()
        if not name.startswith("__") and (module, name) != ("serving", "preloading")
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
