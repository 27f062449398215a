"""Descriptions in TOML: what each becomes, and how every mistake is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart.errors import InvalidArgument
from tellapart.worlds import (
    Channel,
    Exchangeable,
    GaussianRecords,
    Independent,
    JointTable,
    MarkovChain,
    RecordValue,
    Sum,
    TreeNetwork,
    fit_chain,
)
from tellapart.worlds.described import parse, read
from tellapart.worlds.described.tables import Target
from tellapart.worlds.markov.fitting import FittedChain
from tellapart.worlds.models.fitted_tables import FittedTable

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CHAIN = """
[model]
kind = "chain"
transition = [[0.9, 0.1], [0.4, 0.6]]
initial = [0.8, 0.2]
length = 5
"""
FOUR = '[model]\nkind = "independent"\nmarginal = [0.1, 0.2, 0.3, 0.4]\nrecords = 2\n'
DAYS = "day,who,kind\n" + "".join(
    f"{day},{who},{'sr'[(day // 3 + who) % 2]}\n" for who in (1, 3) for day in range(20)
)


def answers(model):
    """The law of the sum for someone who knows the last record to be its first value."""
    last = model.records - 1
    law = model.law(Sum(), RecordValue(last, float(model.domain(last)[0])))
    return dict(zip(law.values.tolist(), np.exp(law.log_weights).tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (
            'kind = "chain"\ntransition = [[0.9, 0.1], [0.4, 0.6]]\ninitial = [0.5, 0.5]\n'
            "length = 4\nvalues = [2, 5]",
            MarkovChain([0.5, 0.5], [[0.9, 0.1], [0.4, 0.6]], 4, [2, 5]),
        ),
        (
            'kind = "chain"\ntransition = [[0.9, 0.1], [0.4, 0.6]]\nstationary = true\nlength = 4',
            MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], 4),
        ),
        (
            'kind = "table"\nprobabilities = [[0.4, 0.1], [0.2, 0.3]]\nvalues = [[0, 1], [3, 7]]',
            JointTable([[0, 1], [3, 7]], [[0.4, 0.1], [0.2, 0.3]]),
        ),
        (
            'kind = "table"\nprobabilities = [[0.4, 0.1], [0.2, 0.3]]',
            JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.2, 0.3]]),
        ),
        (
            'kind = "table"\n[[model.rows]]\nrecords = [0, 5]\np = 0.25\n'
            "[[model.rows]]\nrecords = [1, 2]\np = 0.75",
            JointTable.of({(0, 5): 0.25, (1, 2): 0.75}),
        ),
        (
            'kind = "independent"\nmarginals = [[0.7, 0.3], [0.2, 0.8]]\nvalues = [[0, 1], [4, 6]]',
            Independent([[0.7, 0.3], [0.2, 0.8]], [[0, 1], [4, 6]]),
        ),
        (
            'kind = "independent"\nmarginal = [0.7, 0.3]\nrecords = 3\nvalues = [1, 2]',
            Independent([[0.7, 0.3]] * 3, [[1, 2]] * 3),
        ),
        (
            'kind = "exchangeable"\ncount_law = [0.1, 0.15, 0.5, 0.15, 0.1]',
            Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1]),
        ),
        (
            'kind = "tree"\nparent = [-1, 0, 0]\nroot = [0.75, 0.25]\n'
            "tables = [[0.9, 0.1], [0.3, 0.7]]\nvalues = [[0, 1], [0, 2], [0, 3]]",
            TreeNetwork(
                [-1, 0, 0],
                [0.75, 0.25],
                [[0.9, 0.1], [0.3, 0.7]],
                [[0, 1], [0, 2], [0, 3]],
            ),
        ),
    ],
)
def test_every_kind_of_model_is_the_one_its_class_makes(text, model):
    found = parse(f"[model]\n{text}").model
    assert type(found) is type(model)
    assert answers(found) == answers(model)


def test_normal_records():
    text = '[model]\nkind = "gaussian"\nmean = [1, 2]\ncovariance = [[1, 0.5], [0.5, 2]]'
    found = parse(text).model
    assert isinstance(found, GaussianRecords)
    assert found.mean.tolist() == [1, 2]
    assert found.covariance.tolist() == [[1, 0.5], [0.5, 2]]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "days.csv").write_text(DAYS)
    (tmp_path / "pairs.csv").write_text("she,he\na,0\nb,1\nb,1\na,1\n")
    return tmp_path


def test_a_chain_is_fitted_to_a_file_beside_the_description(folder):
    place = folder / "bus.toml"
    place.write_text(
        '[model]\nkind = "chain"\ndata = "data/days.csv"\ncolumn = "kind"\nby = "who"\n'
        'order = "day"\nlength = 7\nconfidence = 0.9\nvalues = {s = 0, r = 3}\n'
        'states = ["s", "r"]\n'
    )
    found = read(place)
    alone = fit_chain(
        folder / "data" / "days.csv",
        column="kind",
        by="who",
        order="day",
        states=["s", "r"],
        length=7,
        confidence=0.9,
        values={"s": 0, "r": 3},
    )
    assert isinstance(found.fitted, FittedChain)
    assert found.title == "bus"
    assert found.fitted.counts.tolist() == alone.counts.tolist()
    assert found.fitted.confidence == 0.9
    assert answers(found.model) == answers(alone.chain())


def test_a_fitted_chain_may_begin_as_the_data_do(folder):
    text = '[model]\nkind = "chain"\ndata = "data/days.csv"\ncolumn = "kind"\nby = "who"\n'
    started = parse(f"{text}stationary = false", folder=folder)
    assert started.fitted is not None
    assert answers(started.model) == answers(started.fitted.chain(stationary=False))
    assert answers(started.model) != answers(parse(text, folder=folder).model)


def test_a_table_is_fitted_to_a_file(folder):
    text = '[model]\nkind = "table"\ndata = "pairs.csv"\ncolumns = ["she", "he"]\n'
    found = parse(f"{text}values = {{she = {{a = 0, b = 5}}}}", folder=folder)
    assert isinstance(found.fitted, FittedTable)
    assert found.fitted.counts.tolist() == [[1, 1], [0, 2]]
    assert found.model.domain(0).tolist() == [0, 5]


def test_all_the_parts():
    found = parse(
        f"""title = "five days"
        {CHAIN}
        [query]
        weights = [1, 0, 1, 0, 1]
        [release]
        noise = "gaussian"
        sigma = 2
        [policy]
        graph = "complete"
        counts = [{{values = [1], count = 2}}]
        [target]
        f_score = 0.8
        prior = 0.1
        """
    )
    assert found.title == "five days"
    assert found.query.over(5).tolist() == [1, 0, 1, 0, 1]
    assert found.release == ta.Gaussian(2)
    assert found.policy is not None
    assert len(found.policy.databases()) == 10
    assert found.target == Target("f_score", 0.8, 0.1)
    assert str(found.target) == "F-score ≤ 0.8, prior 0.1"


def test_what_is_not_said_is_left_open():
    found = parse(CHAIN)
    assert found.query == Sum()
    assert (found.release, found.policy, found.target, found.fitted) == (None,) * 4


def test_a_channel_row_by_row():
    text = """[release]
    noise = "channel"
    outputs = ["no", "yes"]
    rows = [{answer = 0, chances = [0.75, 0.25]}, {answer = 1, chances = [0.25, 0.75]}]
    """
    found = parse(CHAIN + text).release
    assert isinstance(found, Channel)
    assert found.outputs == ("no", "yes")
    chances = np.exp(found.log_chances(np.array([1.0, 0.0])))
    assert chances == pytest.approx(np.array([[0.25, 0.75], [0.75, 0.25]]))


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ('graph = "complete"', [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
        ('graph = "line"', [(0, 1), (1, 2), (2, 3)]),
        ('graph = "partition"\ncells = [[0, 1], [2, 3]]', [(0, 1), (2, 3)]),
        ('graph = "distance"\nthreshold = 2', [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]),
        ('graph = "edges"\nedges = [[3, 0]]', [(0, 3)]),
        ('graph = "line"\nvalues = [0, 10, 3]', [(0, 3), (10, 3)]),
    ],
)
def test_policies(text, edges):
    found = parse(f"{FOUR}[policy]\n{text}").policy
    assert found is not None
    assert found.edges() == edges
    assert found.records == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.9, 0.1]", "[0.9, 0.2]", "model.transition[0] must sum to 1, got 1.1"),
        ("[0.9, 0.1]", '"high"', "model.transition must be rows of probabilities"),
        ("[0.9, 0.1]", "[0.9]", "model.transition must be rows of probabilities"),
        ("[0.8, 0.2]", "[0.8, 0.1]", "model.initial must sum to 1"),
        ("length = 5", "length = 2.5", "model.length must be a whole number, got 2.5"),
        ("length = 5", "length = true", "model.length must be a whole number, got True"),
        ("length = 5", "", "model.length must be given for a chain, such as length = 100"),
        ("transition", "transitions", "did you mean transition?"),
        ("length = 5", "length = 5\ncolour = 3", "model.colour must be a key of a chain (a chain"),
        ("initial = [0.8, 0.2]", "", "or stationary = true"),
        ("initial", "stationary = true\ninitial", "model.initial must be left out"),
        ("initial", "stationary = 1\ninitial", "model.stationary must be true or false, got 1"),
        ('"chain"', '"train"', 'model.kind must be one of "chain", "table", "independent"'),
        ('kind = "chain"', "", 'model.kind must be given, one of "chain"'),
        ('kind = "chain"', "kind = 3", "model.kind must be one of"),
        ("length = 5", "length = 5\nvalues = [1, 1]", "model.values must differ"),
        ("length = 5", "length = 5\nvalues = 3", "model.values must be a list of numbers, got 3"),
        ("[model]", "[modle]", "modle must be title or one of the tables [model]"),
        ("[model]", "model = 3\n[query]", "model must be a table, [model] with keys"),
        ("[model]", "title = 3\n[model]", "title must be a text, got 3"),
        ("[model]", "[model", "the description must be TOML: "),
        ('kind = "chain"', 'data = "x.csv"\nkind = "chain"', "must be a key of a chain fitted to"),
    ],
)
def test_mistakes_in_a_chain_are_named(old, new, message):
    assert old in CHAIN
    with pytest.raises(InvalidArgument) as caught:
        parse(CHAIN.replace(old, new, 1))
    assert message in str(caught.value)
    assert "[model] model" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "table"', "model.probabilities must be given for a table, such as"),
        ('kind = "table"\nprobabilities = [[0.4, 0.1], [0.1]]', "model.probabilities must be"),
        ('kind = "table"\nprobabilities = [0.4, 0.1]', "model.probabilities must sum to 1"),
        ('kind = "table"\nprobabilities = [0.5, 0.5]\nvalues = 3', "model.values must be a list"),
        ('kind = "table"\nrows = 3', "model.rows must be a list, got 3"),
        ('kind = "table"\nrows = [3]', "model.rows[0] must be a table"),
        ('kind = "table"\nrows = []', "model.rows must"),
        ('kind = "table"\nrows = [{records = [0, 1]}]', "model.rows[0].p must be given for a row"),
        ('kind = "table"\nrows = [{records = [0, 1], p = 2}]', "model.rows[0].p must lie in"),
        ('kind = "table"\nrows = [{records = [[0]], p = 1}]', "model.rows[0].records must be a"),
        ('kind = "table"\nrows = [{records = [0], p = 0.5}]', "model.rows must sum to 1, got 0.5"),
        (
            'kind = "table"\nrows = [{records = [0], p = 0.5}, {records = [0.0], p = 0.5}]',
            "model.rows[1].records must be listed once",
        ),
        (
            'kind = "table"\nrows = [{records = [0], p = 0.5}, {records = [0, 1], p = 0.5}]',
            "model.rows must all have the same number of records",
        ),
        ('kind = "independent"\nmarginals = 3', "model.marginals must be a law for each record"),
        ('kind = "independent"\nmarginals = [[0.3, 0.3]]', "model.marginals[0] must sum to 1"),
        (
            'kind = "independent"\nmarginal = [0.3, 0.3]\nrecords = 2',
            "model.marginal must sum to 1",
        ),
        ('kind = "independent"\nmarginal = [0.5, 0.5]', "model.records must be given"),
        ('kind = "independent"\nmarginals = [[1]]\nvalues = 3', "model.values must be a list"),
        ('kind = "exchangeable"\ncount_law = [0.5, 0.6]', "model.count_law must sum to 1"),
        ('kind = "exchangeable"', "model.count_law must be given for exchangeable records"),
        (
            'kind = "tree"\nparent = [0, 1]\nroot = [1]\ntables = [[1]]',
            "model.parent must have exactly one root",
        ),
        ('kind = "tree"\nparent = 3\nroot = [1]\ntables = [[1]]', "model.parent must be a list"),
        ('kind = "tree"\nparent = [-1]\nroot = [1]\ntables = 3', "model.tables must be a list"),
        ('kind = "gaussian"\nmean = [0]\ncovariance = [[-1]]', "model.covariance must have no"),
        ('kind = "chain"\ndata = "no.csv"\ncolumn = "a"', "model.data must be a file, looked for"),
        ('kind = "chain"\ndata = 3\ncolumn = "a"', "model.data must be a text, got 3"),
        ('kind = "chain"\ndata = "pairs.csv"', "model.column must be given"),
        ('kind = "chain"\ndata = "pairs.csv"\ncolumn = "us"', "must have a column 'us'"),
        ('kind = "chain"\ndata = "pairs.csv"\ncolumn = 1', "model.column must be a text"),
        (
            'kind = "chain"\ndata = "pairs.csv"\ncolumn = "she"\nconfidence = 1',
            "model.confidence must lie strictly between 0 and 1",
        ),
        (
            'kind = "table"\ndata = "pairs.csv"\ncolumns = ["she"]\nvalues = 3',
            "model.values must be a table",
        ),
        ('kind = "table"\ndata = "pairs.csv"\ncolumns = [3]', "model.columns must be a list of"),
    ],
)
def test_mistakes_in_other_models_are_named(text, message, folder):
    with pytest.raises(InvalidArgument) as caught:
        parse(f"[model]\n{text}", folder=folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[query]\nkind = "mean"', 'query.kind must be one of "sum", "linear", got'),
        ("[query]\nweights = [1, 2]", "query.weights must be one for each of 5 records, got 2"),
        ('[query]\nkind = "linear"', "query.weights must be given"),
        ('[query]\nkind = "sum"\nweights = [1]', "query.weights must be left out"),
        ("[query]", "query.weights must be given"),
        ('[release]\nnoise = "laplce"', 'release.noise must be one of "laplace", "gaussian"'),
        ('[release]\nnoise = "laplace"', "release.scale must be given for Laplace noise, such as"),
        ('[release]\nnoise = "laplace"\nscale = 0', "release.scale must be finite and greater"),
        ('[release]\nnoise = "laplace"\nsigma = 1', "release.sigma must be a key of Laplace noise"),
        ('[release]\nnoise = "gaussian"\nsigma = "1"', "release.sigma must be a number, got '1'"),
        ('[release]\nnoise = "channel"', "release.rows must be given for a channel"),
        ('[release]\nnoise = "channel"\nrows = []', "release.rows must not be empty"),
        (
            '[release]\nnoise = "channel"\nrows = [{answer = 0, chances = [0.5]}]',
            "release.rows[0].chances must sum to 1",
        ),
        (
            '[release]\nnoise = "channel"\nrows = [{answer = 0, chances = [1]}]\noutputs = [[1]]',
            "release.outputs must be names or numbers",
        ),
        (
            '[release]\nnoise = "channel"\n'
            "rows = [{answer = 0, chances = [1]}, {answer = 0.0, chances = [1]}]",
            "release.rows[1].answer must be listed once",
        ),
        ('[policy]\ngraph = "star"', 'policy.graph must be one of "complete", "line"'),
        ('[policy]\ngraph = "partition"', "policy.cells must be given for a policy with a part"),
        ('[policy]\ngraph = "partition"\ncells = [[0]]', "policy.cells must have a cell for every"),
        ('[policy]\ngraph = "partition"\ncells = [0, 1]', "policy.cells[0] must be a list of"),
        ('[policy]\ngraph = "distance"\nthreshold = -1', "policy.threshold must be at least 0"),
        ('[policy]\ngraph = "edges"\nedges = [[0, 0]]', "policy.edges must be pairs of different"),
        ('[policy]\ngraph = "edges"\nedges = [[0, 9]]', "policy.edges must have values of the"),
        ('[policy]\ngraph = "complete"\ncounts = [{values = [9], count = 1}]', "policy.counts[0]."),
        ('[policy]\ngraph = "complete"\nvalues = ["a"]', "policy.values must be a list of numbers"),
        ("[target]", "target must have one of epsilon, posterior and f_score, got none"),
        ("[target]\nepsilon = 1\nposterior = 0.5", "got epsilon and posterior"),
        ("[target]\nepsilon = -1", "target.epsilon must be finite and greater than 0, got -1"),
        ("[target]\nposterior = 2", "target.posterior must lie strictly between 0 and 1"),
        ("[target]\nf_score = 0.5\nprior = 0", "target.prior must lie strictly between 0 and 1"),
        ("[target]\nepsilon = 1\nprior = 0.5", "target.prior must be left out with epsilon"),
        ("[target]\nepsilom = 1", "target.epsilom must be a key of a target (did you mean eps"),
    ],
)
def test_mistakes_in_other_tables_are_named(text, message):
    with pytest.raises(InvalidArgument) as caught:
        parse(CHAIN + text)
    assert message in str(caught.value)


def test_a_policy_needs_the_values_it_speaks_of():
    unlike = '[model]\nkind = "independent"\nmarginals = [[0.5, 0.5], [1]]\n[policy]\n'
    with pytest.raises(InvalidArgument, match=r"policy\.values must be given, as records do not"):
        parse(f'{unlike}graph = "complete"')
    normal = '[model]\nkind = "gaussian"\nmean = [0]\ncovariance = [[1]]\n[policy]\n'
    with pytest.raises(InvalidArgument, match=r"policy\.values must be given, as normal records"):
        parse(f'{normal}graph = "complete"')


def test_a_model_there_must_be():
    with pytest.raises(InvalidArgument, match=r"\[model\] must be given"):
        parse("")


def test_messages_name_the_file(tmp_path):
    place = tmp_path / "wrong.toml"
    place.write_text(CHAIN.replace("length = 5", "length = 0"))
    with pytest.raises(InvalidArgument) as caught:
        read(place)
    assert str(caught.value) == f"{place}: model.length must be at least 1, got 0"
    place.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidArgument, match="must be text in UTF-8"):
        read(place)


@pytest.mark.parametrize("name", ["chain", "flu", "wet_days"])
def test_the_examples_can_be_read(name):
    found = read(EXAMPLES / f"{name}.toml")
    assert found.title != name
    assert isinstance(found.release, ta.Laplace)
    assert found.target == Target("epsilon", 1.0)
    assert (found.fitted is not None) == (name == "wet_days")
