"""Names and types resolved: the syntax tree becomes the bound tree.

Importing the package imports every module, so a new piece of syntax needs no entry anywhere.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
