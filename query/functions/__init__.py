"""The functions and operators the engine knows, a module per family. `registry` is the one list of them.

Importing the package imports every family, so a new module needs no entry anywhere.
"""

import importlib
import pkgutil

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_family.name}")
