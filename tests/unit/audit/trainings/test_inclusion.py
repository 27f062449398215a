"""Exact tests of inclusion masks, and the coins that a design leaves an auditor."""

import itertools
from collections import Counter

import numpy as np
import pytest

from tellapart.audit import Coins
from tellapart.audit.trainings import inclusion
from tellapart.audit.trainings.inclusion import MaskTest, check_mask, fair_cells, matched
from tellapart.errors import InvalidArgument

LONE = np.array([[True, False, True], [True, True, True]])


def tables(models, records):
    cells = itertools.product([False, True], repeat=models * records)
    return [np.array(each).reshape(models, records) for each in cells]


def law(coins, models, records, prior):
    """Every mask that a design can give, with its chance."""
    every = tables(models, records)
    if coins is Coins.FIXED_SIZE:
        every = [mask for mask in every if (mask.sum(axis=1) == round(prior * records)).all()]
    if coins is Coins.BALANCED:
        every = [mask for mask in every if (mask.sum(axis=0) == round(prior * models)).all()]
    if coins is Coins.INDEPENDENT:
        chances = [prior ** mask.sum() * (1 - prior) ** (~mask).sum() for mask in every]
        return every, np.array(chances)
    return every, np.full(len(every), 1 / len(every))


@pytest.mark.parametrize(
    ("coins", "models", "records", "prior"),
    [
        (Coins.INDEPENDENT, 3, 3, 0.5),
        (Coins.INDEPENDENT, 4, 2, 0.3),
        (Coins.FIXED_SIZE, 3, 4, 0.5),
        (Coins.FIXED_SIZE, 4, 4, 0.25),
        (Coins.BALANCED, 4, 3, 0.5),
        (Coins.BALANCED, 4, 4, 0.25),
    ],
)
def test_no_mask_has_a_smaller_p_value_than_its_chance_allows(coins, models, records, prior):
    """Summed over all masks of the design: P[p ≤ t] ≤ t for every t, and for each test alone."""
    every, chances = law(coins, models, records, prior)
    assert chances.sum() == pytest.approx(1)
    given = {} if coins is not Coins.INDEPENDENT else {"prior": prior}
    together = np.array([check_mask(mask, coins, **given).p_value for mask in every])
    each = [list(inclusion._tests(mask, coins, given.get("prior", 0.5))) for mask in every]
    columns = [together, *np.array([[test.p_value for test in row] for row in each]).T]
    for p_values in columns:
        for value in np.unique(p_values[p_values < 1]):
            assert chances[p_values <= value].sum() <= value * (1 + 1e-9)
    # Not by saying nothing: some mask is unlikely.
    assert min(column.min() for column in columns) < 0.5


def drawn(coins, models, records, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.random((models, records))
    if coins is Coins.FIXED_SIZE:
        return numbers.argsort(axis=1).argsort(axis=1) < records // 2
    if coins is Coins.BALANCED:
        return numbers.argsort(axis=0).argsort(axis=0) < models // 2
    return numbers < 0.5


THREE = [Coins.INDEPENDENT, Coins.FIXED_SIZE, Coins.BALANCED]


@pytest.mark.parametrize("coins", THREE)
@pytest.mark.parametrize("other", THREE)
def test_a_mask_of_another_design_is_refused_and_its_own_is_not(coins, other):
    mask = drawn(other, 24, 300)
    if coins is other:
        assert check_mask(mask, coins).p_value > 0.001
        assert check_mask(mask, coins).remark == ""
        return
    with pytest.raises(InvalidArgument, match=f"Coins.{coins.name}"):
        check_mask(mask, coins)


def test_what_is_odd_about_a_mask_is_said():
    fair = drawn(Coins.INDEPENDENT, 60, 200)
    together = fair.copy()
    together[:, 1] = together[:, 0]
    constant = fair.copy()
    constant[:, 7] = True
    near = np.vstack([fair, fair[:1] ^ (np.arange(200) < 20)])
    for mask, words in (
        (together, "records 0 and 1 agree in 60 of 60 places"),
        (constant, "record 7 is in 60 of 60 models"),
        (near, "models 0 and 60 agree in 180 of 200 places"),
        (drawn(Coins.INDEPENDENT, 60, 200) | (np.arange(200) < 60), "60 records are in all models"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            check_mask(mask, Coins.INDEPENDENT)
    rare = MaskTest("record 7 is in 1 of 40 models", 1e-5)
    assert rare.remark.startswith("The mask is unlikely under the stated coins (p ≤ 1e-5): record")


@pytest.mark.parametrize("coins", THREE)
@pytest.mark.parametrize("opposite", [False, True])
def test_copied_coins_are_refused_wherever_the_copies_stand(coins, opposite):
    """A record that stands twice has one coin, not two; of opposite ones sizes are fixed, too."""
    rng = np.random.default_rng(7)
    half = drawn(coins, 40, 150)
    doubled = np.hstack([half, half ^ opposite])
    words = r"pairs of records have the same|coins agree in"
    if opposite and coins is Coins.BALANCED:
        words = "also have one total for every model"
    for places in (np.arange(300), rng.permutation(300)):
        with pytest.raises(InvalidArgument, match=words):
            check_mask(doubled[:, places], coins)
    # Of few models many records are alike by chance, and two of many are not.
    assert check_mask(drawn(coins, 6, 150), coins).p_value > 0.001
    lone = drawn(coins, 60, 100)
    lone[:, 70] = lone[:, 20]
    if coins is not Coins.FIXED_SIZE:  # whose models have one size no more
        with pytest.raises(
            InvalidArgument, match="1 pair of records has the same coins in all 60 models"
        ):
            check_mask(lone, coins)


@pytest.mark.parametrize("coins", THREE)
def test_coins_that_agree_a_little_everywhere_are_refused(coins):
    """Each of 200 pairs for itself is no surprise."""
    models, pairs = 20, 200
    rng = np.random.default_rng(11)
    some = drawn(coins, models, pairs)
    others = drawn(coins, models, pairs, seed=1)
    copied = rng.random(pairs) < 0.35
    if coins is Coins.FIXED_SIZE:
        others = np.where(np.arange(pairs) < 90, some, False)
        for row, coin in zip(others, some, strict=True):
            left = np.flatnonzero(np.arange(pairs) >= 90)
            row[rng.permutation(left)[: coin[90:].sum()]] = True
    else:
        others = np.where(copied, some, others)
    for mask in (np.hstack([some, others]), np.stack([some, others], axis=2).reshape(models, -1)):
        tests = [each for each in inclusion._tests(mask, coins, 0.5) if "coins agree" in each.what]
        assert min(each.p_value for each in tests) < 1e-9


def test_a_prior_is_held_against_the_mask():
    mask = np.random.default_rng(3).random((30, 100)) < 0.3
    assert check_mask(mask, Coins.INDEPENDENT, 0.3).p_value > 0.001
    with pytest.raises(InvalidArgument, match=r"coins say in, of a chance of 0\.5 each"):
        check_mask(mask, Coins.INDEPENDENT)


def test_one_record_differs_or_the_design_is_another():
    assert check_mask(np.array([[True, False], [True, True]]), Coins.ONE_RECORD).p_value == 1
    for mask in (LONE | True, np.eye(3, dtype=bool)):
        with pytest.raises(InvalidArgument, match="differ between models in one record alone"):
            check_mask(mask, Coins.ONE_RECORD)


def test_tables_that_are_even_both_ways_are_another_design():
    rows = np.tile(np.arange(40) < 20, (2, 1)) ^ np.array([[False], [True]])
    with pytest.raises(InvalidArgument, match="also have one total for every record"):
        check_mask(np.vstack([rows] * 3), Coins.FIXED_SIZE)
    with pytest.raises(InvalidArgument, match="also have one total for every model"):
        check_mask(np.vstack([rows] * 15), Coins.BALANCED)


@pytest.mark.parametrize(
    "wrong", [np.ones(3), np.full((2, 2), 0.5), np.array([["a"]]), np.ones((0, 2), bool)]
)
def test_what_is_no_mask_is_refused(wrong):
    with pytest.raises(InvalidArgument, match="inclusion must be a table of True and False"):
        inclusion.mask_of(wrong)
    assert inclusion.mask_of([[1, 0], [0.0, 1.0]]).dtype == bool


def test_copies_and_complements_stay_together():
    mask = drawn(Coins.FIXED_SIZE, 6, 100)
    paired = np.concatenate([mask, ~mask[:2], mask[3:4]])
    assert inclusion.first_of_each(paired, Coins.FIXED_SIZE).tolist() == [
        0, 1, 2, 3, 4, 5, 0, 1, 3,
    ]  # fmt: skip
    # Of three records models are alike by chance, and a balanced table is another matter.
    few = drawn(Coins.INDEPENDENT, 9, 3)
    assert inclusion.first_of_each(few, Coins.INDEPENDENT).tolist() == list(range(9))
    assert inclusion.first_of_each(paired, Coins.BALANCED).tolist() == list(range(9))


def test_given_the_matching_every_way_to_turn_the_pairs_is_equally_likely():
    """All 10 subsets of 2 of 5, each with every matching that it may be given."""
    seen = Counter()
    for subset in itertools.combinations(range(5), 2):
        inside = np.isin(np.arange(5), subset)
        # Permutations of the members and of the others, as the generator draws them.
        for members in itertools.permutations(subset):
            for others in itertools.permutations(sorted(set(range(5)) - set(subset))):
                orders = iter((np.array(members), np.array(others)))
                draw = type("Drawn", (), {"permutation": lambda self, x, o=orders: next(o)})()
                pairs = matched(inside, draw)
                turned = dict(
                    zip(zip(pairs.first, pairs.second, strict=True), pairs.first_in, strict=True)
                )
                places = tuple(sorted((int(a), int(b)) for a, b in turned))
                seen[places, tuple(bool(turned[place]) for place in places)] += 1
    matchings = {places for places, _ in seen}
    assert len(matchings) == 15
    for places in matchings:
        assert len({seen[places, way] for way in itertools.product([False, True], repeat=2)}) == 1


def test_kept_cells_are_as_often_in_as_out():
    """P[in, kept] = P[out, kept] = min(p, 1 - p), by hand for the chance that is asked of."""

    class Asked:
        def random(self, shape):
            return np.full(shape, 0.2499)

    prior = np.array([0.5, 0.8, 0.2, 1.0, 0.0])
    member, other = (fair_cells(np.full(5, side), prior, Asked()) for side in (True, False))
    # In with chance 0.8, kept with chance 0.25; out with chance 0.8, kept with 0.25.
    # A coin that cannot fall both ways is no coin.
    assert member.tolist() == other.tolist() == [True, True, True, False, False]
    rng = np.random.default_rng(5)
    inside = rng.random((300, 200)) < 0.7
    kept = inside[fair_cells(inside, 0.7, rng)]
    assert kept.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(kept.size))
    assert kept.size / inside.size == pytest.approx(0.6, abs=0.02)
    everything = fair_cells(inside, 0.5, rng)
    assert everything.all()
