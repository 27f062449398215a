"""Curves in and out: JSON, and the privacy loss distributions (PLD) of dp_accounting."""

from __future__ import annotations

import dataclasses
import json
import math
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.safe import times_exp, to_ends
from tellapart._numeric.text import short
from tellapart.curve.algebra import WorstCase, check_curve, joint_bound
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import (
    GaussianCurve,
    GuaranteeCurve,
    LaplaceCurve,
    LogisticCurve,
)
from tellapart.curve.discrete_gaussian import DiscreteGaussianCurve
from tellapart.curve.guarantees import profile_lines
from tellapart.curve.planar_laplace import PlanarLaplaceCurve
from tellapart.curve.provenance import Provenance
from tellapart.curve.truncated_laplace import TruncatedLaplaceCurve
from tellapart.errors import Unsupported
from tellapart.neighbours import Neighbours, Order

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

_FORMAT = 1
# Keys that a curve of which less is known does not have.
_BESIDE = {"neighbours", "order", "ordered"}
_KINDS: dict[str, type[TradeoffCurve]] = {
    kind.__name__: kind
    for kind in (
        AtomicCurve,
        DiscreteGaussianCurve,
        GaussianCurve,
        GuaranteeCurve,
        LaplaceCurve,
        LogisticCurve,
        PlanarLaplaceCurve,
        TruncatedLaplaceCurve,
        WorstCase,
    )
}
# More mass than this far out is not worth a longer table; it counts as fully revealing.
_TAIL = 1e-20


def to_json(curve: TradeoffCurve) -> str:
    """A curve as text that `from_json` turns back into the same curve, bit for bit.

    >>> from_json(to_json(LaplaceCurve(1.0)))
    <curve of LaplaceCurve(shift=1.0), exact>
    """
    check_curve(curve=curve)
    return json.dumps({"tellapart_curve": _FORMAT, **_pack(curve)}, allow_nan=False)


def from_json(text: str) -> TradeoffCurve:
    """The curve that `to_json` wrote; what it could not have written is refused.

    >>> import tellapart as ta
    >>> promise = ta.guarantee(epsilon=1)
    >>> from_json(to_json(promise)) == promise
    True
    """
    rule = "be a curve written by to_json"
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        _checks.refuse("text", rule, text)
    written = content.pop("tellapart_curve", None) if isinstance(content, dict) else None
    if type(written) is not int or written != _FORMAT:
        _checks.refuse("text", f"{rule} (format {_FORMAT})", text)
    return _unpack(content)


def _pack(curve: TradeoffCurve) -> dict[str, Any]:
    kind = type(curve)
    if _KINDS.get(kind.__name__) is not kind:
        raise Unsupported(_why_not(kind))
    fields = {name: _plain(getattr(curve, name)) for name in _field_names(kind)}
    return {"kind": kind.__name__, **fields, **_known(curve._provenance)}


def _known(provenance: Provenance) -> dict[str, Any]:
    """What is known of a curve beside its numbers; nothing is written of what is not."""
    known: dict[str, Any] = {}
    if provenance.neighbours is not None:
        known["neighbours"] = provenance.neighbours.name.lower()
    if provenance.order is not None:
        known["order"] = provenance.order.value
    if provenance.ordered is not None:
        known["ordered"] = _pack(provenance.ordered)
    return known


def _provenance(content: dict[str, Any], bound: Bound) -> Provenance:
    named: dict[str, dict[str, Enum]] = {
        "neighbours": {relation.name.lower(): relation for relation in Neighbours},
        "order": {order.value: order for order in Order},
    }
    known: dict[str, Any] = {}
    for key, values in named.items():
        if key in content:
            if not isinstance(content[key], str) or content[key] not in values:
                _checks.refuse(f"{key} in text", f"be one of {', '.join(values)}", content[key])
            known[key] = values[content[key]]
    if "ordered" in content:
        ordered = known["ordered"] = _unpack(content["ordered"])
        if (ordered.order, ordered.neighbours, ordered.bound) != (
            Order.PRESENT,
            known.get("neighbours"),
            bound,
        ):
            rule = "be of order present, with the neighbours and the bound of the curve itself"
            _checks.refuse("ordered in text", rule, content["ordered"])
    return Provenance(**known)


def _why_not(kind: type[TradeoffCurve]) -> str:
    if kind.__module__.startswith(f"{__package__}."):  # of ours, only those made of steps
        return (
            "the curve of a composition or a sample cannot be stored: keep the mechanism, or "
            "store mechanism.bracket(...).lower"
        )
    return f"a curve of the class {kind.__name__} cannot be stored: keep what it was made from"


def _field_names(kind: type[TradeoffCurve]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.init]  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Bound):
        return value.value
    if isinstance(value, TradeoffCurve):
        return _pack(value)
    if isinstance(value, (tuple, np.ndarray)):
        return [_plain(entry) for entry in value]
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _unpack(content: Any) -> TradeoffCurve:
    named = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(named, str) or named not in _KINDS:
        _checks.refuse("kind in text", f"be one of {', '.join(_KINDS)}", named or content)
    kind = _KINDS[named]
    names = _field_names(kind)
    if set(content) - _BESIDE != {"kind", *names}:
        _checks.refuse("text", f"have the fields kind, {', '.join(names)}", sorted(content))
    curve = kind(**{name: _value(name, content[name]) for name in names})
    if isinstance(curve, AtomicCurve):
        _refuse_contradiction(curve)
    if isinstance(curve, WorstCase) and joint_bound(curve.curves) is not curve.bound:
        rule = f"be that of the curves, {joint_bound(curve.curves).value}"
        _checks.refuse("bound in text", rule, curve.bound.value)
    return curve.with_provenance(_provenance(content, curve.bound))


def _refuse_contradiction(curve: AtomicCurve) -> None:
    """Losses must be those of their masses, as far as the masses have digits."""
    with np.errstate(all="ignore"):
        implied = np.where(curve.losses == np.inf, np.inf, times_exp(curve.absent, curve.losses))
        implied = np.where((curve.absent == 0) & np.isfinite(curve.losses), curve.present, implied)
        implied = np.where((curve.absent == 0) & (curve.losses == np.inf), curve.present, implied)
        off = np.abs(implied - curve.present) > 1e-6 * curve.present + 1e-9
    if off.any():
        _checks.refuse("losses in text", "be the log ratios of present and absent", curve.losses)


def _value(name: str, value: Any) -> Any:
    if name == "bound":
        if value not in [bound.value for bound in Bound]:
            _checks.refuse("bound in text", "be lower, exact or upper", value)
        return Bound(value)
    if name in ("curves", "losses", "absent", "present") and not isinstance(value, list):
        _checks.refuse(f"{name} in text", "be a list", value)
    if name == "curves":
        return tuple(_unpack(entry) for entry in value)
    if name in ("losses", "absent", "present"):
        return np.array([_number(name, entry) for entry in value])
    return _number(name, value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    return _checks.number(**{f"{name} in text": value})


def from_dp_accounting(pld: PrivacyLossDistribution, discretization: float = 1e-4) -> AtomicCurve:
    """The curve behind a dp_accounting privacy-loss distribution, for both orders at once.

    Reads δ at multiples of ``discretization``, the mesh the distribution was built with. The
    result is `Bound.LOWER`, as sound as a pessimistic distribution is.

    >>> import tellapart as ta
    >>> from dp_accounting.pld import privacy_loss_distribution
    >>> pld = privacy_loss_distribution.from_laplace_mechanism(1.0)
    >>> curve = ta.from_dp_accounting(pld)
    >>> curve.bound, round(curve.epsilon(delta=0.1), 3)
    (<Bound.LOWER: 'lower'>, 0.789)
    """
    mesh = _checks.finite_above_zero(discretization=discretization)
    if not hasattr(pld, "get_delta_for_epsilon"):
        _checks.refuse("pld", "be a dp_accounting PrivacyLossDistribution", pld)
    # There is no public way to ask, and an optimistic law is no guarantee.
    if getattr(getattr(pld, "_pmf_remove", None), "_pessimistic_estimate", True) is False:
        _checks.refuse("pld", "be a pessimistic estimate, or it is no guarantee", pld)
    with np.errstate(all="ignore"):  # what overflows in there is multiplied by 0
        limit = float(pld.get_delta_for_epsilon(1e6))

        def beyond(epsilon: Array) -> Array:
            delta = float(pld.get_delta_for_epsilon(float(epsilon[0])))
            return np.array([delta - limit if epsilon[0] < 1e6 else 0.0])

        top = float(solve.climb(beyond, np.array([mesh]), mesh)[0])
        steps = math.ceil(top / mesh) + 1
        if steps > 5_000_000:
            _checks.refuse(
                "discretization", f"be coarser: losses reach {short(top, 3)}", discretization
            )
        epsilons = mesh * np.arange(steps, dtype=np.float64)
        deltas = np.clip(pld.get_delta_for_epsilon(epsilons.tolist()), 0.0, 1.0)
    return profile_lines(epsilons, deltas)


def to_dp_accounting(curve: TradeoffCurve, discretization: float = 1e-4) -> PrivacyLossDistribution:
    """A dp_accounting privacy-loss distribution that errs, but for rounding, to the attacker.

    Needs the extra ``accounting``. Losses move to the two neighbouring multiples of
    ``discretization`` so that the masses of both worlds keep their totals.

    >>> import tellapart as ta
    >>> pld = ta.to_dp_accounting(ta.Laplace.with_epsilon(1).curve())
    >>> round(pld.get_epsilon_for_delta(0.1), 3)
    0.789
    """
    mesh = _checks.finite_above_zero(discretization=discretization)
    check_curve(curve=curve)
    if curve.bound is Bound.UPPER:
        raise Unsupported(
            "an attack's curve (Bound.UPPER) is no guarantee: dp_accounting needs one"
        )
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError as missing:
        raise Unsupported(
            "to_dp_accounting needs: pip install 'tellapart[accounting]'"
        ) from missing

    def law(test: TradeoffCurve) -> Any:
        lowest, masses, revealed = _on_grid(test, mesh)
        return pld_pmf.DensePLDPmf(mesh, lowest, masses, revealed, pessimistic_estimate=True)

    return privacy_loss_distribution.PrivacyLossDistribution(law(curve), law(curve.mirrored()))


def _on_grid(curve: TradeoffCurve, mesh: float) -> tuple[int, Array, float]:
    """The law of the loss with the record present, on multiples of the mesh; and mass at +inf."""
    with np.errstate(all="ignore"):
        lowest, highest = _reach(curve, mesh)
        if highest - lowest > 20_000_000:
            _checks.refuse("discretization", "be coarser for a curve of this reach", mesh)
        grid = np.arange(lowest, highest + 1, dtype=np.float64)
        fpr, tpr, fnr, tnr = curve._rates(grid * mesh)
        present = np.where(grid[1:] > 0, -np.diff(tpr), np.diff(fnr))
        absent = np.where(grid[1:] > 0, -np.diff(fpr), np.diff(tnr))
        present, absent = np.maximum(present, 0.0), np.maximum(absent, 0.0)
        _, up = to_ends(grid[:-1] * mesh, grid[1:] * mesh, absent, present)
    masses = np.concatenate([present - up, [0.0]]) + np.concatenate([[0.0], up])
    masses[0] += fnr[0]  # losses below the grid, rounded up to it
    return int(lowest), masses, float(tpr[-1])


def _reach(curve: TradeoffCurve, mesh: float) -> tuple[int, int]:
    ends = []
    for test in (curve, curve.mirrored()):
        top = test._largest_loss()
        if not math.isfinite(top):
            limit = test._delta_at_infinity()
            least = limit + max(_TAIL, 4 * np.finfo(float).eps * limit)

            def heavy(threshold: Array, test: Any = test, least: float = least) -> Array:
                return np.where(test._rates(threshold)[1] > least, 1.0, -1.0)

            start = np.zeros(1)
            top = float(solve.falling_root(heavy, start, solve.climb(heavy, start, 1.0))[1][0])
        ends.append(math.ceil(max(top, mesh) / mesh))
    return -ends[1] - 1, ends[0]
