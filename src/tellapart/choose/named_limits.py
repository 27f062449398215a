"""Calibration by named limits: the choice, its binding constraint, its scope and its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tellapart import _checks
from tellapart._decimals import plain_exponent
from tellapart._numeric.text import fixed, short, to_digits
from tellapart.choose.calibrate import Choice, certainly, largest, least
from tellapart.choose.frontiers import Frontier, frontier
from tellapart.choose.limit import Limit, at_least, at_most
from tellapart.choose.search import LEAST, MOST
from tellapart.curve.guarantees import guarantee, nothing
from tellapart.errors import Infeasible, InvalidArgument, NotCertified, Unsupported
from tellapart.mechanisms.batches.random_allocation import Allocated
from tellapart.mechanisms.catalogue import KINDS, PARAMETERS, NamedFamily
from tellapart.mechanisms.combine import Combined, Repeated, Sampled
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.risk.catalogue import limited

# Sensitivity analysis: at the choice, and at less and more.
AROUND = (0.25, 0.5, 1.0, 2.0, 4.0)
# Schemes whose sampling rates are 1 over a whole number: too few to search among.
_WHOLE_EPOCHS = ("random-allocation", "shuffled")
_UNASKED = "certified curves take longer, and were not asked for"


def accepted(
    bounds: Mapping[str, float], attacker: Mapping[str, float], called: Callable[[str], str] = str
) -> list[Limit]:
    """The limits with these bounds, for this attacker; ``called`` names a bound that is refused."""
    known = limited()
    for key, bound in bounds.items():
        if known[key][1].most <= 1:
            _checks.probability(**{called(key): bound})
    given: dict[str, float] = {}
    for key in bounds:
        for argument in known[key][0].arguments:
            value = attacker.get(argument.key)
            if value is None:
                raise InvalidArgument(f"{called(key)} must come with {called(argument.key)}")
            given[argument.key] = argument.check(**{called(argument.key): value})
    return [
        (at_least if measure.smaller_is_worse else at_most)(
            bounds[key], measure.function, **measure.called_with(given)
        )
        for key, (measure, _) in known.items()
        if key in bounds
    ]


def chosen(
    family: NamedFamily, limits: Sequence[Limit], certify: bool = True
) -> tuple[Choice, str]:
    """The choice, confirmed by certified curves; or why it is not."""
    if family.parameter == "data_size":
        raise Unsupported(
            "cannot solve for data_size: ε also depends on the sampling rate it sets; fix data_size"
        )
    scheme = family.fixed.get("scheme")
    if family.parameter in ("sampling_rate", "batch_size") and scheme in _WHOLE_EPOCHS:
        raise Unsupported(
            f"cannot solve for {family.parameter}: with scheme {scheme} an epoch is a whole number "
            "of steps, 1/sampling_rate; fix it, and solve for noise_multiplier or steps"
        )
    search = least if family.grows_private else largest
    choice = search(family.make, limits, whole=family.whole)
    if not certify:
        return choice, _UNASKED
    try:
        return certainly(family.make, choice, family.whole), ""
    except NotCertified as doubt:
        return choice, str(doubt)


def unbound(choice: Choice) -> bool:
    """Whether every parameter keeps the limits: there is nothing to choose."""
    return choice.binding is None and choice.parameter in (LEAST, MOST)


@dataclass(frozen=True)
class Setting:
    """What one configures: noise, wherever the mechanism adds some."""

    values: Mapping[str, float]
    by: str = ""  # the parameter that was chosen, where it is another

    def __str__(self) -> str:
        return ", ".join(f"{name} = {_typed(value)}" for name, value in self.values.items())


def _typed(value: float) -> str:
    """Ten digits where they say all, else the shortest text that reads back as the number."""
    text = short(value, 10)
    return text if float(text) == value else plain_exponent(repr(value))


def configured(family: NamedFamily, value: float) -> Setting:
    """What to configure where this value is chosen: of a mechanism made by its ε, the noise.

    Noise is rounded up, so that who types it in has no less than was chosen; but where it is cut
    off, both numbers are shown as they are, since more noise below the same cut-off reveals more.
    """
    step: object = family.make(value)
    while isinstance(step, Repeated | Sampled | Allocated):
        step = step.base
    noise = {
        key: float(getattr(step, key))
        for key, parameter in PARAMETERS.items()
        if parameter.is_noise and hasattr(step, key)
    }
    if family.parameter not in ("epsilon", "delta") or not noise:
        return Setting({family.parameter: value})
    if "cutoff" not in noise:
        noise = {key: to_digits(amount, 10, up=True) for key, amount in noise.items()}
    if "noise_multiplier" in KINDS[family.name].parameters:
        noise = {"noise_multiplier": noise["sigma"]}
    return Setting(
        noise, f", by {family.parameter} = {short(value, 10)}{' a step' if family.composed else ''}"
    )


def for_any_mechanism(
    family: NamedFamily, limits: Sequence[Limit], delta: float | None = None
) -> float | None:
    """The ε that is safe whatever the mechanism, at this δ, where the question makes sense."""
    asked = family.parameter == "epsilon" or (delta is not None and family.grows_private)
    if not asked or family.name == "any" or family.composed:
        return None
    delta = _promised(family, delta)
    try:
        return largest(lambda epsilon: guarantee(epsilon, delta), limits).short
    except Infeasible:
        return None


def _promised(family: NamedFamily, delta: float | None) -> float:
    return family.fixed.get("delta", 0.0) if delta is None else delta


def explained(
    family: NamedFamily,
    choice: Choice,
    anyone: float | None,
    doubt: str,
    delta: float | None = None,
) -> list[str]:
    """The binding constraint first, then the rounding, the scope and how sure it is."""
    binding = "none; the mechanism is not defined beyond this value"
    said = [
        f"Binding constraint: {binding if choice.binding is None else choice.binding}.",
        f"{choice.scope[0].upper()}{choice.scope[1:]}.",
    ]
    if short(choice.parameter, 10) != short(choice.short, 10):
        way = "up" if family.grows_private else "down"
        said.insert(1, f"Rounded conservatively: {way} from {short(choice.parameter, 10)}.")
    if doubt:
        said.append(f"Accurate to about nine digits, but not certified: {doubt}.")
    elif isinstance(choice.subject, Combined):
        said.append("Certified: the limits also hold with every numerical error counted.")
    if anyone is not None:
        leak = _promised(family, delta)
        claim = f"(ε, δ = {short(leak)})-DP" if leak else "ε-DP"
        said.append(
            f"For any mechanism: {claim} with ε = {short(anyone, 10)} is enough to keep the limits."
        )
    return said


def limit_cells(choice: Choice, subject: Subject) -> list[tuple[str, str, str, str]]:
    """Every limit beside its baseline and what the subject achieves; the head first."""
    curve, blind = curve_of(subject), nothing()
    rows = [
        (
            str(limit),
            fixed(before, not limit.least) if (before := limit.value(blind)) else "0",
            fixed(limit.value(curve), not limit.least),
            "binding" * (limit is choice.binding),
        )
        for limit, _ in choice.achieved
    ]
    return [("limit", "without the output", "with it", ""), *rows]


def cost(
    family: NamedFamily,
    limits: Sequence[Limit],
    values: Sequence[float],
    names: Sequence[str] | None = None,
) -> Frontier:
    """The frontier at those values that the family has, and has an answer for.

    ``names`` tell limits apart that are on the same risk, by different attackers.
    """
    called = [limit.label for limit in limits] if names is None else names
    measures = {name: limit.value for name, limit in zip(called, limits, strict=True)}
    frontiers: dict[float, Frontier] = {}
    for value in values:
        with suppress(InvalidArgument, NotCertified):
            frontiers[value] = frontier(family.make, [value], measures, name=family.parameter)
    if len({each.bound for each in frontiers.values()}) != 1:
        return frontier(family.make, list(frontiers), measures, name=family.parameter)
    first, *_ = frontiers.values()
    return replace(first, rows=tuple(each.rows[0] for each in frontiers.values()))


def cost_cells(cost: Frontier) -> list[tuple[str, ...]]:
    """The table, without its errors where there are none."""
    if cost.rows[0].margin is None:
        return [(row[0], *row[3:]) for row in cost.cells()]
    return list(cost.cells())
