"""What frameworks refuse, skip, assume and promise, and how long they take."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import (
    Channel,
    Exchangeable,
    GaussianRecords,
    ImpossibleSecret,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    Predicate,
    RecordIn,
    RecordValue,
    Sum,
    TreeNetwork,
)
from tellapart.worlds.frameworks import (
    bayesian,
    dependent,
    differential_privacy,
    group_privacy,
    pufferfish,
    pufferfish_by_record,
)
from tellapart.worlds.frameworks.dependent_dp import dependence_sensitivity, pairwise_coefficient
from tellapart.worlds.frameworks.pufferfish_privacy import worst_curve
from tellapart.worlds.frameworks.result import FrameworkResult, Side

ONE = ta.Laplace(1)
TWINS = JointTable([[0, 1], [0, 1]], [[0.5, 0], [0, 0.5]])
COINS = Independent([[0.5, 0.5]] * 3)
STAYING = [[0.9, 0.1], [0.4, 0.6]]
NORMAL = GaussianRecords([0, 0, 0], np.full((3, 3), 0.5) + 0.5 * np.eye(3))
FAR = MarkovChain.stationary(STAYING, 1000)
VERY_FAR = MarkovChain.stationary(STAYING, 10_000)
EVERY = (differential_privacy, group_privacy, pufferfish, dependent, bayesian)


# -- terms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", EVERY)
def test_every_framework_states_its_terms(framework):
    found = framework(TWINS, Sum(), ONE)
    assert isinstance(found, FrameworkResult)
    assert found.assumptions
    assert found.side is Side.EXACT
    assert found.composes == (framework in (differential_privacy, group_privacy))
    assert found.witness.log_ratio == found.epsilon
    assert str(found).startswith(f"{found.framework}: ε = ")


def test_support_neighbours_compose_as_their_pairs_do_not_depend_on_a_law():
    assert dependent(TWINS, Sum(), ONE, reading="support").composes
    assert not dependent(TWINS, Sum(), ONE, reading="probabilistic").composes


def test_twins_tell_twice_as_much_as_differential_privacy_says():
    assert differential_privacy(TWINS, Sum(), ONE).epsilon == 1
    assert pufferfish(TWINS, Sum(), ONE).epsilon == pytest.approx(2, abs=1e-15)
    assert dependent(TWINS, Sum(), ONE, reading="support").epsilon == 2
    assert group_privacy(TWINS, Sum(), ONE).epsilon == 2


def test_sums_move_by_the_records_that_count_most():
    model = Independent([[0.5, 0.5]] * 3, [[0, 1], [-1, 3], [0, 2]])
    query = Linear([5, -1, 1])
    assert differential_privacy(model, query, ta.Laplace(2)).epsilon == 2.5
    assert group_privacy(model, query, ta.Laplace(2), size=2).epsilon == 4.5
    seen = group_privacy(model, query, ta.Laplace(2), size=2).witness
    assert seen.likelier == (RecordValue(0, 1), RecordValue(1, -1))
    assert seen.other == (RecordValue(0, 0), RecordValue(1, 3))


def test_functions_are_asked_of_databases_that_the_model_finds_impossible():
    def both(records):
        return 10 * records[0] * (1 - records[1])

    assert differential_privacy(TWINS, both, ONE).epsilon == 10
    assert pufferfish(TWINS, both, ONE).epsilon == 0
    seen = differential_privacy(TWINS, both, ONE).witness
    assert seen.likelier == (1.0, 0.0)
    assert seen.other in ((0.0, 0.0), (1.0, 1.0))


@pytest.mark.parametrize("framework", [differential_privacy, group_privacy])
def test_gaussian_noise_has_no_epsilon_and_says_what_to_ask(framework):
    found = framework(COINS, Sum(), ta.Gaussian(1))
    assert found.epsilon == math.inf
    assert "without a δ" in found.assumptions
    assert framework(COINS, Linear([0, 0, 0]), ta.Gaussian(1)).epsilon == 0


def test_records_without_bounds_have_no_differential_privacy():
    found = differential_privacy(NORMAL, Sum(), ONE)
    assert found.epsilon == math.inf
    assert "normal records have no bound" in found.assumptions
    assert differential_privacy(NORMAL, Linear([0, 0, 0]), ONE).epsilon == 0


def test_knowing_anything_under_gaussian_noise():
    assert bayesian(TWINS, Sum(), ta.Gaussian(1)).epsilon == math.inf
    assert bayesian(TWINS, lambda d: d[0] - d[1], ta.Gaussian(1)).epsilon == 0


def test_gaussian_noise_under_a_model():
    noise = ta.Gaussian(1)
    assert pufferfish(COINS, Sum(), noise).epsilon == math.inf
    # Both values of a twin's record leave the difference at 0.
    assert pufferfish(TWINS, Linear([1, -1]), noise).epsilon == 0
    curve = worst_curve(TWINS, Sum(), noise)
    assert curve.delta(1.0) == pytest.approx(ta.guarantee(mu=2).delta(1.0), rel=1e-6)


# -- secrets --------------------------------------------------------------------------------------


def test_normal_records_by_named_values():
    pairs = [(RecordValue(0, 0), RecordValue(0, 1)), (RecordValue(1, -1), RecordValue(1, 2))]
    assert pufferfish(NORMAL, Sum(), ONE, pairs=pairs[:1]).epsilon == pytest.approx(2)
    found = pufferfish(NORMAL, Sum(), ONE, pairs=pairs)
    assert found.epsilon == pytest.approx(6)
    assert {found.witness.likelier.record, found.witness.other.record} == {1}


def test_cells_and_predicates_are_secrets():
    table = JointTable([[0, 1, 2], [0, 1]], [[0.2, 0.1], [0.1, 0.2], [0.1, 0.3]])
    some, rest = RecordIn(0, [1, 2]), RecordValue(0, 0)
    found = pufferfish(table, Sum(), ONE, pairs=[(some, rest)])
    assert found.epsilon == ta.worlds.tell_apart(table, Sum(), ONE, some, rest).epsilon
    odd, even = Predicate(lambda d: sum(d) % 2), Predicate(lambda d: sum(d) % 2 == 0)
    found = pufferfish(table, Sum(), ONE, pairs=[(odd, even), (some, rest)])
    assert found.epsilon >= ta.worlds.tell_apart(table, Sum(), ONE, odd, even).epsilon


def test_impossible_values_are_listed_and_not_dropped_in_silence():
    model = Independent([[0.5, 0.5, 0.0], [1.0, 0.0]])
    gone = (RecordValue(0, 2), RecordValue(1, 1))
    assert pufferfish(model, Sum(), ONE).skipped == gone
    assert bayesian(model, Sum(), ONE).skipped == gone
    chain = MarkovChain([1, 0], STAYING, 4)
    assert pufferfish(chain, Sum(), ONE).skipped == (RecordValue(0, 1),)
    found = pufferfish_by_record(chain, Sum(), ONE)
    assert np.isnan(found.epsilons).tolist() == [True, False, False, False]
    pairs = [(RecordValue(0, 2), RecordValue(0, 0)), (RecordValue(0, 1), RecordValue(0, 0))]
    assert pufferfish(model, Sum(), ONE, pairs=pairs).skipped == gone[:1]


def test_records_that_are_alike_are_worked_out_once():
    many = Exchangeable(np.full(401, 1 / 401))
    found = pufferfish_by_record(many, Sum(), ONE)
    assert np.ptp(found.epsilons) == 0
    last = pufferfish(many, Sum(), ONE, records=[400 - 1])
    assert last.epsilon == found.epsilons[0]
    assert last.witness.likelier.record == 399


# -- long models ----------------------------------------------------------------------------------


def test_ten_thousand_times_at_once():
    found = pufferfish_by_record(MarkovChain.stationary(STAYING, 10_000), Sum(), ONE)
    assert found.exact.all()
    assert found.worst == pytest.approx(3.298249356108304, abs=1e-9)


CHANGING = [[0.16, 0.84], [0.88, 0.12]]
SLOW = [[0.002, 0.998], [0.997, 0.003]]


@pytest.mark.parametrize("length", [200, 10_000])
def test_a_long_chain_that_changes_is_exact_at_its_worst(length):
    found = pufferfish(MarkovChain.stationary(CHANGING, length), Sum(), ta.Laplace(0.3))
    short = pufferfish(MarkovChain.stationary(CHANGING, 40), Sum(), ta.Laplace(0.3))
    assert found.side is Side.EXACT
    assert found.epsilon == pytest.approx(short.epsilon, abs=1e-4)
    assert 0 <= found.epsilon - found.witness.log_ratio <= 1e-9


def test_every_record_of_a_long_chain_that_changes():
    chain = MarkovChain.stationary(CHANGING, 600)
    found = pufferfish_by_record(chain, Sum(), ta.Laplace(0.3))
    for record in (0, 3, 300, 599):
        exact = pufferfish(chain, Linear(np.ones(600)), ta.Laplace(0.3), records=[record]).epsilon
        assert found.epsilons[record] == pytest.approx(exact, abs=1e-8)


def test_a_chain_that_never_forgets_is_bounded_and_says_so():
    chain = MarkovChain.stationary(SLOW, 600)
    found = pufferfish(chain, Sum(), ta.Laplace(0.3))
    assert found.side is Side.AT_MOST
    assert found.witness.log_ratio < found.epsilon


def test_any_knowledge_of_a_long_chain():
    found = bayesian(MarkovChain.stationary([[0.6, 0.4], [0.3, 0.7]], 5000), Sum(), ONE)
    short = bayesian(MarkovChain.stationary([[0.6, 0.4], [0.3, 0.7]], 28), Sum(), ONE)
    assert found.side is Side.EXACT
    assert found.epsilon == pytest.approx(short.epsilon, abs=1e-9)


@pytest.mark.slow
def test_knowledge_from_far_away_is_bounded_and_says_so():
    chain, noise = MarkovChain.stationary([[0.97, 0.03], [0.03, 0.97]], 200), ta.Laplace(30)
    found = bayesian(chain, Sum(), noise)
    assert found.side is Side.AT_MOST
    assert pufferfish(chain, Sum(), noise).epsilon <= found.epsilon
    assert found.witness.log_ratio < found.epsilon


def test_even_chains_without_a_grid_are_bounded_by_leakage_alone():
    chain = MarkovChain.stationary(STAYING, 500, [0, 0.3])
    found = pufferfish(chain, Sum(), ta.Laplace(0.3))
    assert found.side is Side.EXACT
    assert found.epsilon == pytest.approx(
        pufferfish(MarkovChain.stationary(STAYING, 500), Sum(), ONE).epsilon, abs=1e-9
    )


def test_curves_of_normal_records_under_gaussian_noise():
    pairs = [(RecordValue(0, 0), RecordValue(0, 1)), (RecordValue(1, 0), RecordValue(1, 0.5))]
    curve = worst_curve(NORMAL, Sum(), ta.Gaussian(1), pairs=pairs)
    same = ta.guarantee(mu=2 / math.sqrt(3))
    assert curve.delta(1.0) == pytest.approx(same.delta(1.0), rel=1e-9)


@pytest.mark.parametrize("scale", [1e4, 1e8, 1e11])
def test_much_noise_is_no_excuse_for_a_loose_bound(scale):
    """With changing states the leakage bound stays several times the truth, however small."""
    chain = MarkovChain.stationary(CHANGING, 30)
    found = pufferfish(chain, Sum(), ta.Laplace(scale))
    exact = max(
        abs(law.mean - other.mean) / scale
        for law, other in [chain.record_laws(Sum(), t) for t in range(30)]
    )
    assert found.epsilon == pytest.approx(exact, rel=0.01)


def test_values_on_no_grid_are_bounded():
    values = [0, 1 / 3, math.sqrt(2)]
    rows = [[0.2, 0.6, 0.2], [0.6, 0.2, 0.2], [0.4, 0.4, 0.2]]
    chain = MarkovChain([0.4, 0.4, 0.2], rows, 4, values)
    found = pufferfish(chain, Sum(), ONE)
    assert found.side is Side.AT_MOST
    assert found.witness.log_ratio < found.epsilon


def test_one_node_of_a_thousand_and_all_of_them():
    rng = np.random.default_rng(0)
    parent = [-1, *(int(rng.integers(0, i)) for i in range(1, 1000))]
    tree = TreeNetwork(parent, [0.75, 0.25], [[0.9, 0.1], [0.3, 0.7]])
    found = pufferfish(tree, Sum(), ONE, records=[500])
    assert found.witness.likelier.record == 500
    with pytest.raises(ta.Unsupported, match=r"1000 records take .* name some by records="):
        pufferfish(tree, Sum(), ONE)


# -- pairwise coefficients ------------------------------------------------------------------------


def test_pairwise_coefficients_miss_what_three_records_show_together():
    xor = JointTable.of({(0, 0, 0): 0.25, (0, 1, 1): 0.25, (1, 0, 1): 0.25, (1, 1, 0): 0.25})
    found = [pairwise_coefficient(xor, i, j, scale=1) for i in range(3) for j in range(3)]
    assert np.array(found).reshape(3, 3).tolist() == np.eye(3).tolist()
    noise = ta.Laplace(dependence_sensitivity(xor, Sum(), scale=1))
    assert pufferfish(xor, Sum(), noise).epsilon > 1.4


def test_pairwise_coefficients_of_twins_are_one():
    assert pairwise_coefficient(TWINS, 0, 1, scale=3) == pytest.approx(1)
    assert dependence_sensitivity(TWINS, Linear([1, 5]), scale=3) == pytest.approx(6)


@pytest.mark.parametrize("unit", [1e-3, 0.1, 10.0, 1e3])
def test_the_unit_of_a_record_does_not_count(unit):
    """Metres and kilometres are one answer: coefficients were of x_j, not of what is summed."""
    table = [[0.4, 0.1], [0.2, 0.3]]
    metres = JointTable([[0, 1], [0, 1]], table)
    others = JointTable([[0, 1], [0, unit]], table)
    usual = dependence_sensitivity(metres, Linear([1, 1]), scale=2)
    assert dependence_sensitivity(others, Linear([1, 1 / unit]), scale=2) == pytest.approx(usual)


# -- refusals -------------------------------------------------------------------------------------

SURE = Independent([[1.0, 0.0], [0.0, 1.0]])
REFUSED = {
    "no model": (lambda: pufferfish([], Sum(), ONE), "models must not be empty"),
    "not a model": (lambda: bayesian([3], Sum(), ONE), "models must be a data model"),
    "not a release": (lambda: differential_privacy(TWINS, Sum(), 1), "release must be"),
    "query": (lambda: differential_privacy(TWINS, "sum", ONE), "query must be Sum"),
    "size": (lambda: group_privacy(COINS, Sum(), ONE, size=4), "size must be"),
    "reading": (lambda: dependent(TWINS, Sum(), ONE, reading="both"), "reading must be"),
    "reading and size": (lambda: dependent(TWINS, Sum(), ONE, size=1), "size must be left out"),
    "record": (lambda: pufferfish(TWINS, Sum(), ONE, records=[2]), "records must be"),
    "no record": (lambda: pufferfish(TWINS, Sum(), ONE, records=[]), "records must not be empty"),
    "no pair": (lambda: pufferfish(TWINS, Sum(), ONE, pairs=[]), "pairs must not be empty"),
    "one secret": (
        lambda: pufferfish(TWINS, Sum(), ONE, pairs=[RecordValue(0, 1)]),
        "pairs must hold pairs",
    ),
    "both": (
        lambda: worst_curve(
            TWINS, Sum(), ONE, pairs=[(RecordValue(0, 1), RecordValue(0, 0))], records=[0]
        ),
        "records must be left out",
    ),
    "unlike": (
        lambda: pufferfish_by_record([TWINS, COINS], Sum(), ONE),
        "models must all have the same records",
    ),
    "channel": (
        lambda: pufferfish(TWINS, Sum(), Channel({0: [0.5, 0.5]})),
        "rows must cover every possible answer",
    ),
    "coefficient": (lambda: pairwise_coefficient(TWINS, 0, 2, 1), "j must be"),
}
IMPOSSIBLE = {
    "all sure": lambda: pufferfish(SURE, Sum(), ONE),
    "all sure, knowing": lambda: bayesian(SURE, Sum(), ONE),
    "all sure, a curve": lambda: worst_curve(SURE, Sum(), ONE),
    "all sure, possible": lambda: dependent(SURE, Sum(), ONE, reading="support"),
    "all sure, a chain": lambda: pufferfish(MarkovChain([1, 0], np.eye(2), 3), Sum(), ONE),
    "all sure, chain, knowing": lambda: bayesian(MarkovChain([1, 0], np.eye(2), 3), Sum(), ONE),
    "known": lambda: pufferfish(Independent([[1.0, 0.0], [0.5, 0.5]]), Sum(), ONE, known={0: 1.0}),
    "pairs": lambda: pufferfish(SURE, Sum(), ONE, pairs=[(RecordValue(0, 1), RecordValue(0, 0))]),
}
TOO_LARGE = {
    "databases": (
        lambda: differential_privacy(FAR, Sum(), Channel({0: [1.0]})),
        r"1\.1e301 databases are too many to list",
    ),
    "function": (lambda: differential_privacy(FAR, max, ONE), "databases are too many to list"),
    "function of very many": (
        lambda: differential_privacy(VERY_FAR, max, ONE),
        r"2\.0e3010 databases are too many to list",
    ),
    "support of very many": (
        lambda: dependent(VERY_FAR, Sum(), ONE, reading="support"),
        r"2\.0e3010 databases are too many to list",
    ),
    "support": (
        lambda: dependent(FAR, Sum(), ONE, reading="support"),
        "too many to list for this, .* ask reading='probabilistic' or group_privacy",
    ),
    "knowledge of a chain": (
        lambda: bayesian(MarkovChain.stationary(np.full((30, 30), 1 / 30), 9), Sum(), ONE),
        "a chain of 30 states is more than 32768 cases",
    ),
    "knowledge, uneven": (
        lambda: bayesian(FAR, Linear(np.arange(1000.0)), ONE),
        r"databases are too many to list for this, .* ask pufferfish\(..., known=...\)",
    ),
    "knowledge of a table": (
        lambda: bayesian(JointTable([[0, 1]] * 15, np.full([2] * 15, 2.0**-15)), Sum(), ONE),
        "all that may be known of 15 records is 2.3e8 cases",
    ),
    "groups": (
        lambda: group_privacy(
            JointTable([[0, 1]] * 16, np.full([2] * 16, 2.0**-16)), max, ONE, size=8
        ),
        "12870 groups of 8 records in 65536 databases",
    ),
    "normal": (lambda: pufferfish(NORMAL, Sum(), ONE), "name two of them in pairs"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_its_name(case):
    call, message = REFUSED[case]
    with pytest.raises(ta.InvalidArgument, match=message):
        call()


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_secrets_that_are_all_impossible_are_an_error(case):
    with pytest.raises(ImpossibleSecret):
        IMPOSSIBLE[case]()


@pytest.mark.parametrize("case", TOO_LARGE)
def test_what_is_too_large_is_refused_with_its_size(case):
    call, message = TOO_LARGE[case]
    with pytest.raises(ta.Unsupported, match=message):
        call()
