"""The public surface: exactly these names, each with a first sentence a person can read."""

import importlib
import inspect
import itertools
import re
import types
from enum import Enum
from pathlib import Path

import pytest
import reference

import tellapart as ta
from tellapart import audit, deployments, plot, report
from tellapart.audit.trainings import canaries

NAMES = {
    "tellapart": """
        AboveThreshold BadLedger BadScores Bound Budget BudgetLedger BudgetSpent
        CustomMechanism DiscreteGaussian DiscreteLaplace ExponentialMechanism Gaussian
        IndividualBudget InvalidArgument Laplace LastIterate LimitReached MECHANISMS
        MaxNoise Mechanism MixtureOfGaussians Neighbours NotCertified Order
        PartitionSelection PermuteAndFlip Plan PlanarLaplace PrivacyRegion Promise
        RandomizedResponse RenyiBudget ReportNoisyMax Sampling Staircase Strategy
        TellapartError ThresholdedHistogram TradeoffCurve TrainingStopped TruncatedLaplace
        UnaryEncoding UniformNoise Unsupported attack balls_in_bins central_limit compose
        concentrated convert cyclic_poisson dominates dp_sgd dp_sgd_with_epsilon
        from_densities from_dp_accounting from_dp_event from_json from_opendp from_pmfs
        from_profile gap geometric guarantee matrix_mechanism negative_binomial parse
        plausibly_deniable poisson renyi renyi_divergence to_dp_accounting to_json
        worst_case
    """,
    "tellapart.risk": """
        accuracy advantage attribute_inference auc bayes_error best_decision blind_estimate
        blind_guess blind_singling_out epsilon extra_cost f_score gaussian_mu gdp guess
        laplace_epsilon least_epsilon max_posterior posterior ppv precision predicate_weight
        rates_from_precision reconstruction reidentification singling_out summary tpr
        words
    """,
    "tellapart.choose": """
        FROM_MODEL Infeasible answer_error at_least at_most by_cost cheapest compare
        error_at_most feasible frontier largest least noise noise_table training_map
        utility_at_least
    """,
    "tellapart.decision": "Decision dumps parse questions read template write",
    "tellapart.audit": """
        Access Band Coins Counts Credible Design Evidence Fixed Guessing
        IndependentCanaries LevelBudget Matrix MembershipGame Orientation Outputs Pool
        Prior Program Ranks Replaced Scores Split Targets Verdict Wager attacks canaries
        domains epsilon_sequence exposure fewest_models from_counts game_evidence
        intervals judge language many_runs metrics one_run plan preview probe probe_bits
        reconstruction search step tables together training watch watch_updates
    """,
    "tellapart.audit.trainings.attacks": """
        Lira Rmia gradient_dot label_confidences lira loss_threshold
    """,
    "tellapart.audit.trainings.canaries": "dirac_gradients mislabelled",
    "tellapart.audit.language": """
        LanguageModel from_templates load losses new_tokens plant random_tokens read_manifest
        secret_exposure secrets
    """,
    "tellapart.audit.searching.domains": "Answers Examples Moves Numbers OneOf Tables Tallies",
    "tellapart.audit.counts.intervals": """
        box_epsilon buehler_epsilon clopper_pearson clopper_pearson_epsilon
    """,
    "tellapart.testing": "assert_private",
    "tellapart.run": "map",
    "tellapart.deadline": "within",
    "tellapart.zoo": "SPECIMENS TRAINING buggy correct find",
    "tellapart.fleet": "CNN Canaries DPSGD LogisticRegression MLP SGD train",
    "tellapart.worlds": """
        Adversary ChainSet Channel Exchangeable GaussianRecords ImpossibleSecret
        Independent JointTable Linear MarkovChain OneSided Predicate PriorRange RecordIn
        RecordValue Sum TableSet TreeNetwork Vector best_guess chain_epsilon_bound
        chain_scale_bound coefficients described fit_chain fit_table frameworks
        one_vs_rest policies quilt_scale streams table_epsilon_bound table_scale_bound
        tell_apart wasserstein
    """,
    "tellapart.worlds.frameworks": """
        bayesian blowfish compare_frameworks dependent differential_privacy ghosh_kleinberg
        group_privacy inferential membership mutual_information pufferfish
        pufferfish_by_record
    """,
    "tellapart.worlds.policies": """
        AttributeGraph CompleteGraph CumulativeHistogram DistanceGraph EdgeGraph Histogram
        KnownCount KnownMarginal PartitionGraph Policy
    """,
    "tellapart.worlds.markov.streams": """
        allocate budget carried_over leakage reversed_chain supremum
    """,
    "tellapart.worlds.described": "parse read",
    "tellapart.deployments": "DEPLOYMENTS Deployment LEFT_OUT Variant find gains",
    "tellapart.accountants.dp_accounting": "CurveAccountant",
    "tellapart.accountants.opacus": "OpacusAccountant accountant check_training",
    "tellapart.plot": """
        audit compare deployments f_score frontier leakage noise panels people precision_recall
        profile region_point regions roc save standings style styled tradeoff training_map
    """,
    "tellapart.report": """
        QUESTIONS Report of of_attack of_comparison of_correlated of_decision page write
    """,
    "tellapart.reproduce": "run table_one verdicts",
    "tellapart.reproduce.framework_orderings": "COUNTEREXAMPLES orderings",
    "tellapart.web": "address create example free_port serve",
}
MOST_WORDS = 20
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", NAMES)
def test_the_public_names_are_these(module):
    assert sorted(importlib.import_module(module).__all__) == NAMES[module].split()


def test_every_name_is_on_a_page_or_in_an_example():
    """What no page needs is no public name: it is imported from the module that defines it."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = " ".join(path.read_text(encoding="utf-8") for path in pages)
    shown = " ".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.S))
    code = [*(ROOT / "examples").glob("*.py"), *(ROOT / "docs").glob("notebooks/*.ipynb")]
    shown += " ".join(path.read_text(encoding="utf-8") for path in code)
    words = set(re.findall(r"\w+", shown))
    assert [name for names in NAMES.values() for name in names.split() if name not in words] == []


def test_a_thing_is_public_in_one_module():
    things = [
        id(getattr(importlib.import_module(module), name))
        for module, names in NAMES.items()
        for name in names.split()
    ]
    assert len(things) == len(set(things))


def test_nothing_else_is_in_sight():
    """Besides its modules the package shows only what it lists."""
    shown = {name for name in dir(ta) if not name.startswith("_")}
    modules = {name for name in shown if isinstance(getattr(ta, name), types.ModuleType)}
    assert shown - modules == set(ta.__all__)


def test_star_import_brings_the_names():
    namespace = {}
    exec("from tellapart import *", namespace)  # noqa: S102
    assert set(ta.__all__) <= set(namespace)


def test_there_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", ta.__version__)


def owner(kind, attribute):
    """Whether a class of tellapart, and not a builtin one, defines the attribute."""
    home = next(base for base in kind.__mro__ if attribute in vars(base))
    return home.__module__.startswith("tellapart.")


def documented():
    """Every public function and class and all that they return, with methods and properties."""
    listed = [f"{module}.{name}" for module, names in NAMES.items() for name in names.split()]
    for path in [*listed, *itertools.chain(*reference.records().values())]:
        module, _, name = path.rpartition(".")
        thing = getattr(importlib.import_module(module), name)
        if not callable(thing):  # tuples, mappings and modules: the reference tells of them
            continue
        yield path, thing
        for attribute, value in inspect.getmembers(thing) if inspect.isclass(thing) else ():
            asked = inspect.isroutine(value) or isinstance(value, property)
            if asked and not attribute.startswith("_") and owner(thing, attribute):
                yield f"{path}.{attribute}", value


THINGS = dict(documented())


def first_sentence(docstring):
    paragraph = docstring.strip().split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.?!])\s", paragraph)[0]


def test_the_first_sentence_has_at_most_twenty_words():
    begun = {name: first_sentence(inspect.getdoc(thing) or "") for name, thing in THINGS.items()}
    assert len(begun) > 1_000
    assert {name: said for name, said in begun.items() if len(said.split()) > MOST_WORDS} == {}
    assert {name: said for name, said in begun.items() if said[-1:] not in (".", "?", "!")} == {}


# Two need files, one takes minutes, one does not end.
NOT_SHOWN = {
    "tellapart.audit.language.load",
    "tellapart.reproduce.run",
    "tellapart.web.serve",
    "tellapart.worlds.described.read",
}


def test_every_name_has_an_example():
    """Functions and classes, errors and enumerations aside; a method's example will do."""
    bare = set()
    for path in (f"{module}.{name}" for module in NAMES for name in NAMES[module].split()):
        thing = THINGS.get(path)
        if thing is None or (inspect.isclass(thing) and issubclass(thing, (Exception, Enum))):
            continue
        texts = [
            inspect.getdoc(each)
            for name, each in THINGS.items()
            if f"{name}.".startswith(f"{path}.")
        ]
        if not any(">>> " in (text or "") for text in texts):
            bare.add(path)
    assert bare == NOT_SHOWN


def test_a_deployment_takes_these():
    fields = "name curator published variant model unit epsilon delta rho status source"
    assert list(inspect.signature(deployments.Deployment).parameters) == fields.split()
    taken = list(inspect.signature(deployments.gains).parameters)
    assert taken == ["asked", "beside", "fpr", "prior"]


def test_the_names_that_stand_are_there():
    """Tests and benchmarks from outside rely on these."""
    curve = ta.guarantee(epsilon=1)
    for method in ("beta", "tpr", "delta", "epsilon", "rates", "mirrored", "symmetrised"):
        assert callable(getattr(curve, method))
    signatures = {
        ta.guarantee: ["epsilon", "delta", "pairs", "mu", "rdp", "zcdp"],
        ta.attack: ["points"],
        ta.from_pmfs: ["p", "q"],
        ta.Laplace.with_epsilon: ["epsilon", "sensitivity"],
        ta.Gaussian.classic: ["epsilon", "delta", "sensitivity"],
        ta.Gaussian.analytic: ["epsilon", "delta", "sensitivity"],
        ta.Gaussian.with_epsilon: ["epsilon", "delta", "sensitivity"],
        ta.TradeoffCurve.beta: ["self", "alpha"],
        ta.TradeoffCurve.tpr: ["self", "fpr"],
        ta.TradeoffCurve.delta: ["self", "epsilon"],
        ta.TradeoffCurve.epsilon: ["self", "delta"],
        ta.TradeoffCurve.rates: ["self", "threshold"],
    }
    for function, parameters in signatures.items():
        assert list(inspect.signature(function).parameters)[: len(parameters)] == parameters
    signatures = {
        audit.Scores: ["members", "non_members"],
        audit.Scores.read: ["path"],
        audit.many_runs: ["scores", "confidence", "method"],
        audit.one_run: ["scores", "confidence"],
        audit.judge: ["claim", "evidence"],
        audit.probe: ["mechanism", "d0", "d1", "claim", "samples", "confidence", "seed"],
        audit.probe_bits: ["mechanism", "d0", "d1", "claim", "samples", "confidence", "seed"],
        audit.search: ["mechanism", "domain", "claim", "samples", "confidence", "seed"],
        audit.training: ["train", "data", "claim", "targets", "models", "score", "attack"],
        audit.MembershipGame: ["data", "design", "models", "seed", "population"],
        audit.MembershipGame.play: ["self", "train", "score", "folder", "progress"],
        audit.game_evidence: ["played", "confidence", "attack", "delta", "each_target"],
        audit.exposure: ["played", "confidence", "attack", "delta"],
        audit.step: ["step", "clip", "noise_multiplier", "sampling_rate", "steps", "claim"],
        canaries.dirac_gradients: ["count", "dimension", "norm"],
        canaries.mislabelled: ["X", "y", "count", "seed"],
        canaries.CanarySet.inclusion: ["self", "seed"],
        canaries.CanarySet.scores: ["self", "values", "inclusion"],
        audit.Evidence.epsilon_lower: ["self", "delta"],
        audit.Evidence.refutes: ["self", "claim"],
        plot.audit: ["found", "claim", "exact"],
        report.of: ["found"],
        report.write: ["report", "path"],
    }
    for function, parameters in signatures.items():
        assert list(inspect.signature(function).parameters)[: len(parameters)] == parameters
    assert ta.Laplace(2) == ta.Laplace(scale=2, sensitivity=1)
    assert ta.Gaussian(2) == ta.Gaussian(sigma=2, sensitivity=1)
    assert ta.RandomizedResponse(1) == ta.RandomizedResponse(epsilon=1, categories=2)
