"""Objects that show themselves: a card in a notebook (``_repr_html_``) and a chart (``.plot()``).

Who draws them knows many kinds of them, and so stands above them all: it is looked up by name when
it is asked for, and nothing here imports it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Displayed:
    """Shows a small picture and its main numbers in a notebook."""

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("tellapart.notebook").html(self)
        return html


class Plotted(Displayed):
    """Also draws itself with matplotlib."""

    def plot(self, kind: str = "roc", *, axes: Axes | None = None, **options: Any) -> Axes:
        """Draw what an attacker can do, on new axes or on these; needs the extra ``plot``.

        ``kind`` is ``"roc"``, ``"roc-log"`` (the low-FPR regime), ``"tradeoff"``, ``"profile"``
        (δ against ε), ``"precision"`` (with ``prior=``) or ``"region"``.

        >>> import tellapart as ta
        >>> axes = ta.Gaussian(sigma=1).curve().plot("roc-log")
        >>> axes.get_xscale()
        'log'
        """
        drawn: Axes = importlib.import_module("tellapart.plot.objects").drawn(
            self, kind, axes, **options
        )
        return drawn
