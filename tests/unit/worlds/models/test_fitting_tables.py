"""Joint tables fitted to rows of data, and bounds for all tables left open."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart.worlds import (
    ImpossibleSecret,
    JointTable,
    Linear,
    RecordValue,
    Sum,
    TableSet,
    fit_table,
    table_epsilon_bound,
    table_scale_bound,
)
from tellapart.worlds.models.table_sets import Mixture

PAIR = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])


def listed(model, scale, query):
    """The true ε of each record, from the laws of the answer at every atom."""
    found = []
    for record in range(model.records):
        laws = []
        for value in model.domain(record):
            try:
                laws.append(model.law(query, RecordValue(record, value)))
            except ImpossibleSecret:
                continue
        at = np.unique(np.concatenate([law.values for law in laws]))
        logs = [
            np.log(np.exp(-np.abs(at[:, None] - law.values) / scale) @ law.weights) for law in laws
        ]
        pairs = itertools.combinations(logs, 2)
        found.append(max((np.abs(a - b).max() for a, b in pairs), default=np.nan))
    return np.array(found)


@pytest.mark.parametrize("seed", range(6))
def test_one_table_is_exact(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 4, 3)
    cells = rng.dirichlet(np.ones(shape.prod())).reshape(shape) * (rng.random(shape) > 0.2)
    model = JointTable([rng.permutation(one) for one in shape], cells / cells.sum())
    for query in (Sum(), Linear([1, -2, 0.5]), lambda x: x[0] * x[1] + x[2] ** 2):
        found, exact = table_epsilon_bound(model, 0.8, query), listed(model, 0.8, query)
        np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("nearest", [True, False])
def test_the_extreme_likelihood_is_at_a_corner_of_the_weights(nearest):
    rng = np.random.default_rng(0)
    for _ in range(10):
        low = rng.random(5) * (rng.random(5) > 0.4)
        mixture = Mixture(np.sort(rng.random(5)), low, low + rng.random(5))
        outputs = rng.normal(0, 1, 4)
        found = (mixture.log_most if nearest else mixture.log_least)(outputs, 0.7)
        kernel = np.exp(-np.abs(outputs[:, None] - mixture.answers) / 0.7)
        corners = [np.array(one) for one in itertools.product(*zip(low, mixture.high, strict=True))]
        means = np.array([kernel @ one / one.sum() for one in corners if one.sum() > 0])
        best = means.max(axis=0) if nearest else means.min(axis=0)
        np.testing.assert_allclose(found, np.log(best), atol=1e-12)


def test_little_noise_does_not_run_out_of_digits():
    table = JointTable([[0, 1], [0, 5000]], [[0.4, 0.1], [0.1, 0.4]])
    found = table_epsilon_bound(table, 1)
    assert found[1] == pytest.approx(5000, abs=1)
    wide = TableSet(table.values, np.zeros((2, 2)), np.ones((2, 2)))
    np.testing.assert_allclose(table_epsilon_bound(wide, 1), [5001, 5001])


@pytest.mark.parametrize("seed", range(4))
def test_a_set_bounds_all_its_laws(seed):
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    tables = TableSet([[0, 1], [0, 1, 2], [0, 1]], 0.8 * centre, np.minimum(1.3 * centre, 1))
    assert tables.contains(JointTable(tables.values, centre))
    found = table_epsilon_bound(tables, 1.5)
    members = tables.members(20, seed)
    assert all(tables.contains(one) for one in members)
    reached = np.array([table_epsilon_bound(one, 1.5) for one in members]).max(axis=0)
    assert np.all(found >= reached - 1e-12)


def test_a_set_leaves_out_only_that_cells_sum_to_one():
    """Every corner of the box, made a law by its sum, which no likelihood given a secret sees."""
    rng = np.random.default_rng(8)
    low = rng.dirichlet(np.ones(6)).reshape(2, 3) * 0.7
    tables = TableSet([[0, 1], [0, 3, 1]], low, np.minimum(2 * low, 1))
    pairs = zip(tables.low.ravel(), tables.high.ravel(), strict=True)
    corners = [np.reshape(one, (2, 3)) for one in itertools.product(*pairs)]
    laws = [JointTable(tables.values, one / one.sum()) for one in corners]
    worst = np.max([listed(one, 1.5, Sum()) for one in laws], axis=0)
    np.testing.assert_allclose(table_epsilon_bound(tables, 1.5), worst, rtol=1e-10)


def test_functions_are_asked_of_possible_databases_only():
    model = JointTable([[0, 1], [0, 1]], [[0, 0.5], [0, 0.5]])
    assert table_epsilon_bound(model, 1, lambda x: x[0] / x[1])[0] == pytest.approx(1)


def test_the_scale_is_the_least_that_the_bound_allows():
    tables = TableSet(PAIR.values, 0.9 * PAIR.probabilities, 1.1 * PAIR.probabilities)
    scale = table_scale_bound(tables, 0.5)
    assert table_epsilon_bound(tables, scale).max() <= 0.5
    assert table_epsilon_bound(tables, scale * (1 - 1e-7)).max() > 0.5
    assert scale > table_scale_bound(PAIR, 0.5) > 2
    fair = JointTable([[0, 1], [0, 1]], np.full((2, 2), 0.25))
    assert (
        table_scale_bound(fair, 1, lambda x: (x[0] - x[1]) ** 2) < 1e-20
    )  # says nothing of either
    with pytest.raises(ta.InvalidArgument, match="query must have answers that differ"):
        table_scale_bound(PAIR, 1, lambda x: 3)
    with pytest.raises(ImpossibleSecret, match="two possible values"):
        table_scale_bound(JointTable.of({(0, 0): 1}), 1)


def test_records_with_one_possible_value_have_no_secret():
    found = table_epsilon_bound(JointTable([[0, 1], [0, 1]], [[0.5, 0.5], [0, 0]]), 1)
    assert np.isnan(found).tolist() == [True, False]
    assert found[1] == pytest.approx(1)


def test_counts_and_estimate(tmp_path):
    rows = pd.DataFrame({"a": ["n", "y", "y", "n", "y"], "b": [0, 2, 2, 2, 0]})
    rows.to_csv(tmp_path / "pairs.csv", index=False)
    for data in (rows, tmp_path / "pairs.csv"):
        fitted = fit_table(data, ["a", "b"], states={"b": [0, 1, 2]})
        assert fitted.states == (("n", "y"), (0, 1, 2))
        assert fitted.counts.tolist() == [[1, 0, 1], [1, 0, 2]]
        assert [one.tolist() for one in fitted.values] == [[0, 1], [0, 1, 2]]
        np.testing.assert_allclose(fitted.model.probabilities, (fitted.counts + 0.5) / 8)
        assert fitted.unseen == (("n", 1), ("y", 1))
        assert fitted.confidence_set.contains(fitted.model)
    counted = fit_table(rows, ["a", "b"], values={"a": {"y": 5, "n": 1}})
    assert counted.values[0].tolist() == [1, 5]


def test_gaps_are_refused_with_their_row_or_dropped():
    rows = {"a": [0, 1, None, 1], "b": [0, 1, 1, 0]}
    with pytest.raises(ta.InvalidArgument, match="a must not be missing, got None in row 2"):
        fit_table(rows, ["a", "b"])
    assert fit_table(rows, ["a", "b"], missing="drop").counts.tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("ab", {}, "columns must be a list of names"),
        ([], {}, "columns must be one or more names"),
        (["a", "a"], {}, "columns must be one or more names that differ"),
        (["a", "c"], {}, "a column 'c'"),
        (["a", "b"], {"confidence": 0}, "confidence must lie strictly"),
        (["a", "b"], {"missing": "split"}, "missing must be 'refuse' or 'drop'"),
        (["one"], {}, "one must show at least 2 states"),
        (["a", "short"], {}, "columns must have one length, got 2 in a, 1 in short"),
    ],
)
def test_what_is_refused(columns, options, said):
    data = {"a": [0, 1], "b": [1, 0], "one": [1, 1], "short": [1]}
    with pytest.raises(ta.InvalidArgument, match=said):
        fit_table(data, columns, **options)


def test_tables_too_large_to_fit():
    data = {f"x{i}": [0, 1] for i in range(20)}
    with pytest.raises(ta.Unsupported, match=r"1\.0e6 combinations are too many"):
        fit_table(data, list(data))


def test_sets_are_checked():
    half = np.full((2, 2), 0.5)
    with pytest.raises(ta.InvalidArgument, match="low must have a law between it and high"):
        TableSet(PAIR.values, half, np.ones((2, 2)))
    with pytest.raises(ta.InvalidArgument, match="high must have the shape of low"):
        TableSet(PAIR.values, half, np.ones(4))
    tables = TableSet(PAIR.values, np.zeros((2, 2)), half)
    assert not tables.contains(JointTable(PAIR.values, [[0.7, 0.1], [0.1, 0.1]]))
    with pytest.raises(ta.InvalidArgument, match="model must have the shape"):
        tables.contains(JointTable([[0, 1]], [0.5, 0.5]))
    with pytest.raises(ta.InvalidArgument, match="model must be a JointTable or a TableSet"):
        table_epsilon_bound(half, 1)


def test_the_promise_is_kept_for_the_true_table():
    """An estimate breaks ε = 1 about half the time, a set at 95 % does not."""
    rng = np.random.default_rng(5)
    broken = []
    for _ in range(40):
        cells = rng.choice(4, size=300, p=PAIR.probabilities.ravel())
        fitted = fit_table({"a": cells // 2, "b": cells % 2}, ["a", "b"])
        scales = [table_scale_bound(one, 1) for one in (fitted.model, fitted.confidence_set)]
        broken.append([table_epsilon_bound(PAIR, one).max() > 1 for one in scales])
    plugged_in, safe = np.mean(broken, axis=0)
    assert plugged_in > 0.2
    assert safe <= 0.05


def test_what_all_intervals_of_a_table_may_miss_adds_up_to_what_is_left():
    for shape in ((2, 2), (2, 3), (2,)):
        rng = np.random.default_rng(len(shape))
        names = [f"x{i}" for i in range(len(shape))]
        data = {
            name: [*range(size), *rng.integers(size, size=400 - size).tolist()]
            for name, size in zip(names, shape, strict=True)
        }
        fitted = fit_table(data, names, confidence=0.9)
        low = fitted.confidence_set.low
        missed = 2 * binom.sf(fitted.counts - 1, fitted.counts.sum(), low)
        # Of two cells one says all of the other.
        assert missed.sum() / (2 if missed.size == 2 else 1) == pytest.approx(0.1, rel=1e-9)


WELL = {"mother": ["well", "sick", "well"] * 5, "father": ["well", "well", "sick"] * 5}
PARENTS = ["mother", "father"]
SICK = {"well": 0, "sick": 1}
MISSPELT = {
    "values of a column": (
        {"values": {"fahter": SICK}},
        r"values .*\['mother', 'father'\], got 'fah",
    ),
    "states of a column": ({"states": {"fahter": ["well"]}}, r"states .*'father'\], got 'fahter'"),
    "an own state": (
        {"values": {"father": SICK | {"sikc": 1}}},
        r"values\['father'\] must name only states .*\['sick', 'well'\], got 'sikc'",
    ),
    "a shared state": (
        {"values": SICK | {"sikc": 1}},
        r"values must name only states .*got 'sikc'",
    ),
    "half an own list": (
        {"values": {"father": {"well": 0}}},
        r"values\['father'\] must say what every state counts: \['sick', 'well'\], got {'well': 0}",
    ),
    "half a shared list": ({"values": {"well": 0}}, r"must say what every state counts"),
    "both shapes": ({"values": {"well": 0, "father": SICK}}, "states only, or of columns only"),
    "no mapping": ({"values": [0, 1]}, "values must be a mapping"),
    "states in a list": ({"states": ["well", "sick"]}, "states must be a mapping"),
    "no number": ({"values": {"father": {"well": 0, "sick": "1"}}}, r"\['sick'\] must be a number"),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_what_is_misspelt_or_left_out_is_refused(case):
    given, message = MISSPELT[case]
    with pytest.raises(ta.InvalidArgument, match=message):
        fit_table(WELL, PARENTS, **given)


def test_states_count_alike_or_by_column_and_say_so():
    assert fit_table(WELL, PARENTS).coding["father"] == {"sick": 0, "well": 1}
    alike = fit_table(WELL, PARENTS, values=SICK)
    assert alike.coding == {"mother": SICK, "father": SICK}
    assert [one.tolist() for one in alike.model.values] == [[1, 0], [1, 0]]
    own = fit_table(WELL, PARENTS, values={"father": {"well": 0, "sick": 2}})
    assert own.coding == {"mother": {"sick": 0, "well": 1}, "father": {"well": 0, "sick": 2}}
    unlike = {"mother": ["a", "b"], "father": ["b", "c"]}
    shared = fit_table(unlike, PARENTS, values={"a": 1, "b": 2, "c": 3})
    assert shared.coding == {"mother": {"a": 1, "b": 2}, "father": {"b": 2, "c": 3}}


def test_a_set_of_tables_is_asked_as_one_of_chains_is():
    tables = TableSet(PAIR.values, 0.9 * PAIR.probabilities, 1.1 * PAIR.probabilities)
    np.testing.assert_array_equal(tables.epsilon_bound(2.0), table_epsilon_bound(tables, 2.0))
    assert tables.scale_bound(0.5, max) == table_scale_bound(tables, 0.5, max)
