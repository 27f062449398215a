"""Training schedules: the noise that other batch sizes and epochs need, and code for a library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tellapart._numeric.text import short
from tellapart.choose import Infeasible
from tellapart.choose import named_limits as answering
from tellapart.choose.calibrate import Choice
from tellapart.choose.limit import Limit
from tellapart.errors import InvalidArgument, NotCertified
from tellapart.mechanisms.catalogue import NamedFamily, Term, terms
from tellapart.web.answer import Code, Table
from tellapart.web.views import families


@lru_cache(maxsize=64)
def solved(
    mechanism: str, parameter: str, limits: tuple[Limit, ...], certify: bool
) -> tuple[Choice, str, float | None]:
    """The choice, what is in doubt about it, and ε for any mechanism.

    Kept, since many dials leave the choice as it is.
    """
    family = families.family(mechanism, parameter)
    anyone = answering.for_any_mechanism(family, limits)
    return *answering.chosen(family, limits, certify), anyone


WAYS = "Other ways to keep the same limits"


def has_schedule(family: NamedFamily) -> bool:
    """Whether there are batches and epochs to choose between."""
    return family.parameter == "noise_multiplier" and {"epochs", "batch_size"} <= set(family.fixed)


def ways(mechanism: str, parameter: str, limits: Sequence[Limit]) -> Table:
    """The noise multiplier for other batch sizes and epochs; a cell takes its schedule over."""
    asked = families.family(mechanism, parameter).parameter
    (term,) = terms(mechanism)
    batch, epochs, size = (float(term.values[x]) for x in ("batch_size", "epochs", "data_size"))
    batches = [b for b in (round(batch / 4), batch, batch * 4, batch * 16) if 1 <= b <= size]
    several = [max(0.1, epochs / 3), epochs, 2 * epochs, 4 * epochs]
    rows, sets = [], []
    for batch_size in batches:
        cells, chosen = [], []
        for passes in (float(short(x, 2)) if x != epochs else x for x in several):
            numbers = {**term.values, "batch_size": batch_size, "epochs": passes}
            try:
                text = str(Term(term.name, numbers))
                choice, _, _ = solved(text, asked, tuple(limits), False)
                cells.append(
                    f"{short(choice.short, 3, up=True)}\n{short(choice.short / batch_size, 2)}"
                )
            except (Infeasible, InvalidArgument, NotCertified):
                cells.append("none")
            chosen.append({"mechanism": str(Term(term.name, numbers))})
        rows.append((f"{batch_size:,.0f}", *cells))
        sets.append(tuple(chosen))
    head = ("batch \\ epochs", *(short(float(short(x, 2)), 4) for x in several))
    note = (
        "The noise multiplier that is needed and, beneath it, the noise on the mean gradient in "
        "units of the clipping norm. Larger batches need a larger multiplier, and still leave each "
        "step less noisy. Choose a cell to take it over."
    )
    return Table(WAYS, head, tuple(rows), note, tuple(sets))


def frameworks(family: NamedFamily, value: float) -> tuple[Code, ...]:
    """The same choice in the words of a training library."""
    if not has_schedule(family) or family.fixed.get("scheme", "poisson") != "poisson":
        return ()
    known = {key: float(family.fixed[key]) for key in ("batch_size", "data_size", "epochs")}
    return (
        Code(
            "Opacus",
            f"""\
# A loader with batch_size={known["batch_size"]:.0f} over {known["data_size"]:,.0f} records.
model, optimizer, loader = PrivacyEngine().make_private(
    module=model,
    optimizer=optimizer,
    data_loader=loader,
    noise_multiplier={value!r},
    max_grad_norm=C,
    poisson_sampling=True,
)
# Train for {short(known["epochs"])} epochs, then stop.
""",
        ),
    )
