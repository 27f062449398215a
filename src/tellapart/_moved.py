"""Module paths that moved in 0.2: each old one works until 0.3, and warns with the new one."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

MOVED = {
    "tellapart.audit.attacks": "tellapart.audit.trainings.attacks",
    "tellapart.audit.canaries": "tellapart.audit.trainings.canaries",
    "tellapart.audit.domains": "tellapart.audit.searching.domains",
    "tellapart.audit.intervals": "tellapart.audit.counts.intervals",
    "tellapart.mechanisms.named": "tellapart.mechanisms.catalogue",
    "tellapart.worlds.fitting": "tellapart.worlds",
    "tellapart.worlds.quilts": "tellapart.worlds",
    "tellapart.worlds.streams": "tellapart.worlds.markov.streams",
}
# Names that a package calls otherwise now, by package.
_RENAMED: dict[str, Mapping[str, str]] = {}


class _Moved(MetaPathFinder, Loader):
    """Finds a module under its old path, as the module that it is now."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(
            f"{spec.name} is {new} since tellapart 0.2; the old path goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run; but the import system has put the old path's specification in."""
        spec = module.__spec__
        if spec is not None and spec.loader is self:
            module.__spec__ = spec.loader_state


def install() -> None:
    """Look for old paths first: a folder that an older version left would take their place."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Moved())


def names(package: str, now: str) -> Callable[[str], Any]:
    """A package's ``__getattr__`` for names that another package has now."""

    def attribute(name: str) -> Any:
        home = importlib.import_module(now)
        new = _RENAMED.get(now, {}).get(name, name)
        if name.startswith("_") or new not in home.__all__:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        warnings.warn(
            f"{package}.{name} is {now}.{new} since tellapart 0.2; the old name goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(home, new)

    return attribute


def renamed(package: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__`` for names that it calls otherwise now."""
    _RENAMED[package] = new_names

    def attribute(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        new = new_names[name]
        warnings.warn(
            f"{package}.{name} is {package}.{new} since tellapart 0.2; the old name goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(package), new)

    return attribute
