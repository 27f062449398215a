"""Write the page of the zoo from the zoo itself: `make zoo`.

Without a file to write it is printed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from tellapart import zoo
from tellapart._numeric.text import short
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.mechanisms.subject import curve_of
from tellapart.zoo.specimen import Flaw, Specimen

HEAD = """# Mechanism zoo

Written by `make zoo` (`benchmarks/_zoo_page.py`) from `tellapart.zoo`; do not edit. {count}
mechanisms as people write them, {correct} correct and {buggy} buggy, to try audits on.
The [detection benchmark](detection.md) shows what a black-box audit finds in them.

```python
from tellapart import zoo

bug = zoo.find("laplace-half-scale")
bug.claimed, bug.truth                  # -> (1.0, 2.0)
len(zoo.correct()), len(zoo.buggy())    # -> ({correct}, {buggy})
```

The truth is the ε of the first pair of inputs, shown here, in its worse order, at the claim's δ, or
at δ = 1e-5 where the claim is of Gaussian DP. A correct mechanism may leak less on that pair than
it may on the whole. Bugs show in the law of one output, but for those marked: *bits*, in the last
digits of floating-point numbers; *calls*, in noise that calls share.
"""
COLUMNS = ("specimen", "what it is", "inputs", "claim", "true ε", "how it is known", "source")
# Inputs longer than this are told with equal entries counted.
LONGEST = 20


def page() -> str:
    """The whole page."""
    counts = {"correct": len(zoo.correct()), "buggy": len(zoo.buggy())}
    parts = [HEAD.format(count=len(zoo.SPECIMENS), **counts)]
    for family, specimens in groupby(
        zoo.SPECIMENS, key=lambda specimen: specimen.mechanism.__module__
    ):
        title = (sys.modules[family].__doc__ or "").partition(".")[0]
        parts.append(f"## {title}\n\n{table(list(specimens))}")
    return "\n".join(parts)


def table(specimens: list[Specimen]) -> str:
    """The specimens of one family, the correct first."""
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    rows += [
        row(specimen) for specimen in sorted(specimens, key=lambda specimen: not specimen.correct)
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def row(specimen: Specimen) -> tuple[str, ...]:
    """One specimen."""
    marked = f" ({specimen.flaw.value})" if specimen.flaw in (Flaw.BITS, Flaw.CALLS) else ""
    name = f"`{specimen.name}`" if specimen.correct else f"**bug** `{specimen.name}`{marked}"
    inputs = " / ".join(f"`{shown(data)}`" for data in specimen.pairs[0])
    cells = (
        name,
        specimen.words,
        inputs,
        claimed(specimen),
        number(specimen.truth),
        specimen.known,
        specimen.source,
    )
    return tuple(cell.replace("|", r"\|") for cell in cells)


def shown(data: Any) -> str:
    """An input, a long one shortened."""
    plain = repr(data)
    if not isinstance(data, tuple) or len(plain) <= LONGEST:
        return plain
    return f"({', '.join(_runs(data))})"


def _runs(data: tuple[Any, ...]) -> Iterator[str]:
    for entry, run in groupby(data):
        times = len(list(run))
        yield f"{shown(entry)} × {times}" if times > 1 else shown(entry)


def claimed(specimen: Specimen) -> str:
    """A claim as people write it."""
    curve = curve_of(specimen.claim, "claim")
    if isinstance(curve, GaussianCurve):
        return f"μ = {curve.mu:g}"
    if not isinstance(curve, GuaranteeCurve):
        return str(specimen.claim)
    delta = f", δ = {short(curve.claimed_delta)}" if curve.claimed_delta else ""
    return f"ε = {short(curve.claimed_epsilon, 4)}{delta}"


def number(truth: float | None) -> str:
    """A true ε, where it is known."""
    if truth is None:
        return "unknown"
    return "∞" if math.isinf(truth) else f"{truth:.4g}"


def main() -> None:
    """Write the page, or print it."""
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
