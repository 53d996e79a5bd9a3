"""Public faces of packages: what others may import from them, loaded when it is asked for.

A package's `__init__.pyi` lists its public names once, for type checkers and for this module.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone takes longer to import than all of this
    from typing import Any


class _Face(ModuleType):
    """A package whose public names live in its modules."""

    _places: dict[str, str]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._places:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(self._places[name]), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Importing `experiments/erasure.py` must not hide the function `erasure` behind it."""
        if name not in self._places or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """The public names alone: what else is imported here is nobody's business."""
        return list(self.__all__)


def face(package: str) -> list[str]:
    """Offer the names that the package's `__init__.pyi` imports; they become its `__all__`."""
    module = sys.modules[package]
    with open(f"{module.__file__}i", encoding="utf8") as stub:
        tree = ast.parse(stub.read())
    places = {
        name.asname or name.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }
    module.__dict__["_places"] = places
    module.__class__ = _Face
    return sorted(places)
