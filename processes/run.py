"""Runs `main` of another module in a process that ends with its parent from its first moment, while it still imports.

`python -m processes.run MODULE --parent PID ...`; the module reads the arguments after its name.
"""

import importlib
import os
import signal
import sys

from processes.child import die_with_parent


def main() -> None:
    """Run the module unless the parent is gone already."""
    module, parent = sys.argv[1], int(sys.argv[sys.argv.index("--parent") + 1])
    die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        return
    del sys.argv[1]
    importlib.import_module(module).main()


if __name__ == "__main__":
    main()
