"""How well can an attacker tell two worlds apart? Differential privacy as a hypothesis test.

>>> import tellapart as ta
>>> curve = ta.Laplace.with_epsilon(1).curve()
>>> round(curve.tpr(fpr=0.01), 4)      # the best attack that flags 1 % of non-members
0.0272
"""

import importlib as _importlib
import importlib.util as _util
import typing as _typing

from tellapart import _moved

if _typing.TYPE_CHECKING:
    from tellapart import audit as audit
    from tellapart import choose as choose
    from tellapart import decision as decision
    from tellapart import plot as plot
    from tellapart import risk as risk
    from tellapart import worlds as worlds
    from tellapart._public import *  # noqa: F403 (they are in its `__all__`)
else:  # a checker would take every name for one that exists
    _had = _moved.names(__name__)
    _ROOMS = ("audit", "choose", "decision", "plot", "risk", "worlds")

    def __getattr__(name: str) -> _typing.Any:
        """A package inside or a public name, imported when it is first asked for."""
        if name == "__all__":
            return _names().__all__
        if name.isidentifier() and not name.startswith("_"):
            if _util.find_spec(f"tellapart.{name}") is not None:
                return _importlib.import_module(f"tellapart.{name}")
            if name in (public := _names()).__all__:
                globals().update({each: getattr(public, each) for each in public.__all__})
                return globals()[name]
        return _had(name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *_ROOMS, *_names().__all__})

    def _names() -> _typing.Any:
        return _importlib.import_module("tellapart._public")


_moved.install()

__version__ = "0.2.0"
