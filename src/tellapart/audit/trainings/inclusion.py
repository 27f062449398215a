"""Inclusion masks: by which coins records came into models, and exact tests of what is said of it.

An audit of models that others trained rests on how their training sets were drawn. The user says
it; the mask can only contradict. Every test here has an exact p-value under the stated design, and
Bonferroni adds them up.

What each design gives an auditor, for one held-out model whose coins are not known from the models
on which an attack was fitted:

- INDEPENDENT: the coin of each record is independent of all others. With a prior other than 1/2 a
  canary is kept with chance min(p, 1 - p)/p if it was in and min(p, 1 - p)/(1 - p) if it was out;
  among those kept, coins are fair and independent (rejection sampling).
- FIXED_SIZE: all subsets of s of m records are equally likely, so coins are not independent and no
  theorem on fair coins applies to them. Match the records that are in with as many that are out, by
  chance. Each subset has as many matchings as any other, so given the matching all of the 2^k ways
  to say which of each pair is in are equally likely: k fair and independent coins. Turning one
  replaces a record by another: the audit is about replace-one neighbours.
- BALANCED: each record is in exactly b of n models, drawn for each record by itself, as LiRA's
  reference code does. Rows are not independent: all rows but one tell that one. Given the rows of
  other models, of which a_j have record j, its coin in a model that is not among them has the prior
  (b - a_j)/(n - their number), independently over records; rejection sampling makes it fair.
- ONE_RECORD: models differ in one record alone, and each is trained independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.binomial import log_choose, lower_tail, pmf, upper_tail
from tellapart._numeric.text import short
from tellapart.data import scores_and_labels
from tellapart.data.ranked import Mask, Whole
from tellapart.errors import InvalidArgument

# A mask less likely than the first is refused, one less likely than the second is remarked on.
IMPOSSIBLE, ODD = 1e-9, 1e-3
# Pairs of rows are all compared where that takes fewer multiplications.
_MOST_PRODUCTS = 4e10
# So many totals that are all the same are no accident.
_MANY = 20
# Of more pairs of records with the same coins, so many are enough to be unlikely.
_MOST_PAIRS = 1000
# Where Chernoff's bound is tried: any set of exponents is valid.
_EXPONENTS = np.geomspace(1e-4, 20, 48)


class Coins(Enum):
    """How the training set of each model was drawn: the design behind an inclusion mask.

    INDEPENDENT: every record is in or out of every model by a coin of its own.
    FIXED_SIZE: every model has a random subset of one size.
    BALANCED: every record is in the same number of models, drawn for each record by itself.
    ONE_RECORD: models differ in one record alone.
    """

    INDEPENDENT = "independent"
    FIXED_SIZE = "fixed-size"
    BALANCED = "balanced"
    ONE_RECORD = "one-record"


class MaskTest(NamedTuple):
    """What about a mask is least likely under its design, and how likely that is at most."""

    what: str
    p_value: float

    @property
    def remark(self) -> str:
        """What should be said of it beside a verdict; nothing where the mask is as expected."""
        if self.p_value >= ODD:
            return ""
        unlikely = f"unlikely under the stated coins (p ≤ {short(self.p_value, 2)})"
        return f"The mask is {unlikely}: {self.what}."


def mask_of(inclusion: ArrayLike) -> Mask:
    """A mask as an array of booleans; 1 and 0 are welcome, anything else is refused."""
    given = scores_and_labels.plain_array(inclusion)
    rule = "be a table of True and False (or 1 and 0), one row a model, one column a record"
    if np.ma.is_masked(given):
        _checks.refuse("inclusion", f"{rule}, none of them missing", "a masked array")
    if given.dtype.kind in "iuf":
        other = ~np.isin(given, (0, 1))
        if other.any():
            _checks.refuse("inclusion", rule, given[other].flat[0].item())
        given = given.astype(np.bool_)
    if given.dtype.kind != "b" or given.ndim != 2 or not given.size:
        shown = given.shape if given.dtype.kind == "b" else given.dtype
        _checks.refuse("inclusion", rule, shown)
    return np.asarray(given)


def check_mask(mask: Mask, coins: Coins, prior: float = 0.5) -> MaskTest:
    """The least likely feature of a mask; one that the design plainly cannot have is refused.

    Copies and complements of a model are for the caller to leave out: see `first_of_each`.
    """
    tests = list(_tests(mask, coins, prior))
    worst = min(tests, key=lambda test: test.p_value, default=MaskTest("", 1.0))
    total = MaskTest(worst.what, min(worst.p_value * max(len(tests), 1), 1.0))
    if total.p_value < IMPOSSIBLE:
        raise InvalidArgument(
            f"inclusion must be drawn as coins=Coins.{coins.name} says, and {worst.what}, which "
            f"such coins give with a chance below {short(max(total.p_value, 1e-300), 2)}: "
            "say how the training sets were drawn, or leave out models and records that were not "
            f"drawn so{_constant(mask)}"
        )
    return total


def _constant(mask: Mask) -> str:
    """How many records have no coin at all: often these are in every training set."""
    count = int((mask.all(axis=0) | ~mask.any(axis=0)).sum())
    return f" ({count:,} records are in all models, or in none)" if count else ""


def _tests(mask: Mask, coins: Coins, prior: float) -> Iterator[MaskTest]:
    models, records = mask.shape
    in_rows, in_columns = mask.sum(axis=1), mask.sum(axis=0)
    if coins is Coins.ONE_RECORD:
        varying = int(((in_columns > 0) & (in_columns < models)).sum())
        if varying != 1:
            rule = "differ between models in one record alone with Coins.ONE_RECORD"
            _checks.refuse("inclusion", rule, f"{varying} records that differ")
        return
    if coins is Coins.FIXED_SIZE:
        _one_total("model", in_rows, coins)
        _not_also_even("record", in_columns, models, coins)
    if coins is Coins.BALANCED:
        _one_total("record", in_columns, coins)
        _not_also_even("model", in_rows, records, coins)
    share = {Coins.FIXED_SIZE: in_rows[0] / records, Coins.BALANCED: in_columns[0] / models}
    p = float(share.get(coins, prior))
    if coins is not Coins.FIXED_SIZE:
        yield _totals("model", in_rows, records, p)
    if coins is not Coins.BALANCED:
        yield _totals("record", in_columns, models, p)
    if coins is Coins.INDEPENDENT:
        every = int(in_rows.sum())
        tail = min(lower_tail(every, mask.size, p), upper_tail(every, mask.size, p))
        said = f"{every:,} of {mask.size:,} coins say in, of a chance of {short(p)} each"
        yield MaskTest(said, float(2 * tail))
        yield _equal("models", in_rows, records, p)
        yield _equal("records", in_columns, models, p)
    yield _agreement("models", mask, _law(records, models, p, coins is Coins.FIXED_SIZE, coins))
    yield _agreement("records", mask.T, _law(models, records, p, coins is Coins.BALANCED, coins))
    yield _copies(mask, coins, p)
    half = records // 2
    yield _together(
        "next to each other", mask[:, 0 : 2 * half : 2], mask[:, 1::2], coins, p, records
    )
    yield _together(
        f"{half:,} places apart", mask[:, :half], mask[:, half : 2 * half], coins, p, records
    )


def _one_total(what: str, totals: Whole, coins: Coins) -> None:
    if totals.min() != totals.max():
        rule = f"have one total for every {what} of the whole table with Coins.{coins.name}"
        _checks.refuse("inclusion", rule, f"{totals.min()} to {totals.max()}")


def _not_also_even(what: str, totals: Whole, trials: int, coins: Coins) -> None:
    """Sums that are fixed both ways are another design, for which nothing is proven here."""
    if totals.size >= _MANY and trials > 1 and totals.min() == totals.max():
        rule = (
            f"not also have one total for every {what} with Coins.{coins.name}: such tables are "
            "drawn by another design, for which no test is known to be valid"
        )
        _checks.refuse("inclusion", rule, f"{totals[0]} for each of {totals.size}")


class _Law(NamedTuple):
    """In how many of so many places two rows agree: P[X ≤ k] and P[X ≥ k] for each k."""

    lower: Array
    upper: Array


def _law(places: int, rows: int, p: float, fixed: bool, coins: Coins) -> _Law:
    k = np.arange(places + 1)
    if not fixed:
        agree = p * p + (1 - p) ** 2
        if coins is not Coins.INDEPENDENT:  # two places of a column whose sum is fixed
            agree = 1 - 2 * p * (1 - p) * rows / max(rows - 1, 1)
        agree = min(max(agree, 0.0), 1.0)
        return _Law(lower_tail(k, places, agree), upper_tail(k, places, agree))
    agreeing, logs = _of_one_size(places, round(p * places))
    mass = np.zeros(places + 1)
    mass[agreeing] = np.exp(logs)
    return _Law(np.cumsum(mass), np.cumsum(mass[::-1])[::-1])


def _of_one_size(places: int, size: int) -> tuple[Whole, Array]:
    """In how many places two rows of one size agree, and the logarithm of each chance.

    They share x of ``size`` with chance C(size, x)·C(places - size, size - x)/C(places, size).
    """
    shared = np.arange(max(0, 2 * size - places), size + 1)
    logs = log_choose(size, shared) + log_choose(places - size, size - shared)
    return places - 2 * (size - shared), logs - log_choose(places, size)


def _two_sided(law: _Law, counts: Whole) -> Array:
    return np.asarray(2 * np.minimum(law.lower[counts], law.upper[counts]))


def _totals(what: str, totals: Whole, trials: int, p: float) -> MaskTest:
    """Each total is binomial; the least likely of all."""
    tails = np.minimum(lower_tail(totals, trials, p), upper_tail(totals, trials, p))
    at = int(np.argmin(tails))
    said = f"record {at} is in {totals[at]:,} of {trials:,} models"
    if what == "model":
        said = f"model {at} has {totals[at]:,} of {trials:,} records"
    return MaskTest(said, float(2 * tails[at] * totals.size))


def _equal(what: str, totals: Whole, trials: int, p: float) -> MaskTest:
    """The largest number of rows of one total; rows are independent, so each has Bin(n, P[t])."""
    values, counts = np.unique(totals, return_counts=True)
    most = int(counts.max())
    chance = upper_tail(most, totals.size, pmf(np.arange(trials + 1), trials, p)).sum()
    said = f"{most:,} of {totals.size:,} {what} have the same total, {values[counts.argmax()]:,}"
    return MaskTest(said, float(chance))


def _agreement(what: str, rows: Mask, law: _Law) -> MaskTest:
    """In how many places two rows agree: of all pairs if they are few, else of neighbours."""
    count, places = rows.shape
    if count < 2:
        return MaskTest("", 1.0)
    if count * count * float(places) > _MOST_PRODUCTS or what == "records":
        agree = (rows[1:] == rows[:-1]).sum(axis=1)
        first = np.arange(count - 1)
        second = first + 1
    else:
        signs = np.where(rows, np.float32(1), np.float32(-1))
        first, second = np.triu_indices(count, 1)
        agree = np.rint((signs @ signs.T)[first, second] + places).astype(np.int64) // 2
    chance = _two_sided(law, agree)
    at = int(np.argmin(chance))
    said = f"{what} {first[at]} and {second[at]} agree in {agree[at]:,} of {places:,} places"
    return MaskTest(said, float(chance[at] * chance.size))


def _copies(mask: Mask, coins: Coins, p: float) -> MaskTest:
    """How many records have the coins of another one, or the opposite ones, wherever these stand.

    Match as many as can be, each with one such other. For k pairs of 2k given records that is
    unlikely; there are m!/((m - 2k)!·2^k·k!) ways to choose them. Whoever has k pairs has fewer,
    too, so the least of these bounds holds.
    """
    models, records = mask.shape
    _, _, sizes = _kinds(mask.T)
    pairs = int((sizes // 2).sum())
    tried = {2**k for k in range(_MOST_PAIRS.bit_length()) if 2**k < pairs}
    tried |= {min(pairs, _MOST_PAIRS)} - {0}
    bounds = [
        float(gammaln(records + 1) - gammaln(records - 2 * k + 1) - gammaln(k + 1))
        - k * np.log(2)
        + _log_all_copied(k, models, records, coins, p)
        for k in tried
    ]
    many = f"{pairs:,} pairs of records have" if pairs != 1 else "1 pair of records has"
    said = f"{many} the same coins in all {models:,} models, or opposite ones"
    return MaskTest(said, float(np.exp(min([0.0, *bounds]))))


def _log_all_copied(k: int, models: int, records: int, coins: Coins, p: float) -> float:
    """The logarithm of the chance that k given pairs of records each are alike, or opposite."""
    same, other = p * p + (1 - p) ** 2, 2 * p * (1 - p)
    if coins is Coins.INDEPENDENT:
        with np.errstate(divide="ignore"):
            return float(k * np.logaddexp(models * np.log(same), models * np.log(other)))
    if coins is Coins.BALANCED:
        size = round(p * models)
        return k * float(np.log(2 if 2 * size == models else 1) - log_choose(models, size))
    # In one model i of the k pairs are alike (x of them in), the others opposite in 2^(k - i) ways.
    size = round(p * records)
    i, x = np.arange(k + 1)[:, None], np.arange(k + 1)[None, :]
    logs = log_choose(i, x) + log_choose(records - 2 * k, size - 2 * x - (k - i))
    row = np.logaddexp.reduce(logs, axis=1) + (k - i[:, 0]) * np.log(2) - log_choose(records, size)
    return float(np.logaddexp.reduce(log_choose(k, i[:, 0]) + models * row))


def _together(
    where: str, some: Mask, others: Mask, coins: Coins, p: float, records: int
) -> MaskTest:
    """How many coins agree in disjoint pairs of records, all pairs and models summed up.

    Binomial if coins are independent. Else a sum of independent laws that are known, one for each
    pair or for each model: Chernoff's bound with their own moments.
    """
    models, pairs = some.shape
    every = models * pairs
    if not pairs:
        return MaskTest("", 1.0)
    agree = int((some == others).sum())
    said = f"{agree:,} of {every:,} coins agree in records {where}"
    if coins is Coins.INDEPENDENT:
        chance = p * p + (1 - p) ** 2
        tail = min(lower_tail(agree, every, chance), upper_tail(agree, every, chance))
        return MaskTest(said, float(2 * tail))
    if coins is Coins.BALANCED:
        times, (values, logs) = pairs, _of_one_size(models, round(p * models))
    else:
        times, (values, logs) = models, _agreeing_pairs(records, round(p * records))
    # P[X ≥ x] ≤ E[e^(λX)]·e^(-λx), and the same for -X.
    bounds = [
        times * float(np.logaddexp.reduce(logs + slope * values)) - slope * agree
        for size in _EXPONENTS
        for slope in (size, -size)
    ]
    return MaskTest(said, min(2 * float(np.exp(min(0.0, *bounds))), 1.0))


def _agreeing_pairs(records: int, size: int) -> tuple[Whole, Array]:
    """In how many disjoint pairs both or none are in a subset of one size, with log-chances.

    Where d pairs differ, in C(pairs, d)·2^d ways, the rest of the subset are whole pairs, and the
    record that has no partner if their number is odd.
    """
    pairs, alone = divmod(records, 2)
    differ = np.arange(pairs + 1)
    rest = size - differ
    logs = log_choose(pairs, differ) + differ * np.log(2) + log_choose(pairs - differ, rest // 2)
    possible = (rest >= 0) & (rest // 2 <= pairs - differ) & (rest % 2 <= alone)
    logs = np.where(possible, logs, -np.inf) - log_choose(records, size)
    return pairs - differ, logs


def _kinds(rows: Mask) -> tuple[Whole, Whole, Whole]:
    """Rows that are alike or opposite are of one kind: its first row, each row's kind, sizes."""
    packed = np.ascontiguousarray(np.packbits(rows ^ rows[:, :1], axis=1))
    keys = packed.view([("", packed.dtype)] * packed.shape[1]).reshape(-1)
    _, first, which, sizes = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return first, which.reshape(-1), sizes


def first_of_each(mask: Mask, coins: Coins, prior: float = 0.5) -> Whole:
    """For each model the first one with the same coins, or with the opposite ones: often itself.

    Privacy Meter and LeakPro train models in pairs, the second on what the first left out. Such
    pairs, and copies, are no independent draws: they stay together, and the first alone is judged.
    Where so many of them may be due to chance, every model stands by itself.
    """
    models, records = mask.shape
    itself = np.arange(models)
    if coins in (Coins.BALANCED, Coins.ONE_RECORD):
        return itself
    first, which, sizes = _kinds(mask)
    # Two models are alike with this chance at most, opposite with no more; disjoint pairs are so
    # independently of each other, and there are at most models² places for each.
    alike = records * float(np.log(prior**2 + (1 - prior) ** 2))
    if coins is Coins.FIXED_SIZE:
        alike = -float(log_choose(records, int(mask[0].sum())))
    pairs = int((sizes // 2).sum())
    chance = pairs * (np.log(2) + 2 * np.log(models) + alike)
    return np.asarray(first[which]) if chance < np.log(IMPOSSIBLE) else itself


def fair_cells(inside: Mask, prior: ArrayLike, rng: np.random.Generator) -> Mask:
    """Which cells to keep so that, among those kept, coins of these priors are fair."""
    p = np.broadcast_to(np.asarray(prior, dtype=np.float64), inside.shape)
    least = np.minimum(p, 1 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(inside, least / p, least / (1 - p))
    if np.all(p == 0.5):
        return np.ones(inside.shape, dtype=np.bool_)
    return np.asarray(rng.random(inside.shape) < chance)


class MatchedPairs(NamedTuple):
    """Matched records of one model, one of each pair in: two places, and whether the first is."""

    first: Whole
    second: Whole
    first_in: Mask


def matched(inside: Mask, rng: np.random.Generator) -> MatchedPairs:
    """Records that are in, matched by chance with as many that are out."""
    members, others = (rng.permutation(np.flatnonzero(side)) for side in (inside, ~inside))
    count = min(members.size, others.size)
    members, others = members[:count], others[:count]
    first, second = np.minimum(members, others), np.maximum(members, others)
    return MatchedPairs(first, second, first == members)
