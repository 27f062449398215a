"""The public surface: exactly these names, each with a first sentence a person can read."""

import inspect
import re
import types

import pytest

import tellapart as ta
from tellapart import audit, deployments, fleet, plot, report, worlds
from tellapart.audit import attacks, canaries, domains
from tellapart.worlds import described, frameworks, policies
from tellapart.worlds.markov import streams

NAMES = [
    "MECHANISMS",
    "BadScores",
    "Bound",
    "CentralLimit",
    "CustomMechanism",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Gaussian",
    "InvalidArgument",
    "Laplace",
    "LimitReached",
    "MaxNoise",
    "Mechanism",
    "MechanismRegion",
    "Neighbours",
    "NotCertified",
    "Order",
    "PermuteAndFlip",
    "PlanarLaplace",
    "PrivacyRegion",
    "Promise",
    "RandomizedResponse",
    "Rates",
    "Repeated",
    "ReportNoisyMax",
    "Sampled",
    "Sampling",
    "Sequence",
    "Staircase",
    "TellapartError",
    "TradeoffCurve",
    "TrainingStopped",
    "TruncatedLaplace",
    "UnaryEncoding",
    "UniformNoise",
    "Unsupported",
    "attack",
    "central_limit",
    "compose",
    "concentrated",
    "crossings",
    "dominates",
    "dp_sgd",
    "dp_sgd_with_epsilon",
    "from_densities",
    "from_dp_accounting",
    "from_dp_event",
    "from_json",
    "from_pmfs",
    "gap",
    "guarantee",
    "matrix_mechanism",
    "plausibly_deniable",
    "renyi",
    "renyi_divergence",
    "to_dp_accounting",
    "to_json",
    "worst_case",
]
WORLDS = [
    "Adversary",
    "Vector",
    "VectorLaw",
    "one_vs_rest",
    "Coefficients",
    "coefficients",
    "described",
    "frameworks",
    "Exchangeable",
    "FiniteLaw",
    "FiniteModel",
    "GaussianRecords",
    "ImpossibleSecret",
    "Independent",
    "JointTable",
    "Linear",
    "MarkovChain",
    "Mixing",
    "NormalLaw",
    "OneSided",
    "Predicate",
    "PriorRange",
    "Quilt",
    "RecordIn",
    "RecordValue",
    "Sum",
    "TreeNetwork",
    "SecretTest",
    "Channel",
    "Widest",
    "Witness",
    "tell_apart",
    "chain_log_mgf",
    "interior_log_mgf",
    "mixing",
    "policies",
    "quilt_scale",
    "quilt_scale_approximate",
    "streams",
    "wasserstein",
    "widest",
]
POLICIES = [
    "AttributeGraph",
    "CompleteGraph",
    "CumulativeHistogram",
    "DistanceGraph",
    "EdgeGraph",
    "Histogram",
    "KnownCount",
    "KnownMarginal",
    "PartitionGraph",
    "Policy",
    "Sensitivity",
]
FRAMEWORKS = [
    "ByRecord",
    "Comparison",
    "FrameworkResult",
    "LeftOut",
    "ProductPriors",
    "Side",
    "approximate_dp",
    "approximate_group",
    "approximate_pufferfish",
    "as_table",
    "bayesian",
    "blowfish",
    "compare_frameworks",
    "dependence_sensitivity",
    "dependent",
    "differential_privacy",
    "ghosh_kleinberg",
    "group_privacy",
    "inferential",
    "membership",
    "membership_epsilon",
    "mutual_information",
    "pairwise_coefficient",
    "pufferfish",
    "pufferfish_by_record",
    "worst_curve",
]
FITTING = [
    "ChainSet",
    "FittedChain",
    "FittedTable",
    "TableSet",
    "chain_epsilon_bound",
    "chain_scale_bound",
    "fit_chain",
    "fit_table",
    "table_epsilon_bound",
    "table_scale_bound",
]
DEPLOYMENTS = [
    "CAVEATS",
    "DEPLOYMENTS",
    "LEFT_OUT",
    "SOURCE",
    "Deployment",
    "Gain",
    "LeftOut",
    "Variant",
    "find",
    "gains",
]
FLEET = [
    "CNN",
    "DPSGD",
    "MLP",
    "SGD",
    "Architecture",
    "Canaries",
    "Fleet",
    "Linear",
    "Recipe",
    "train",
]
ATTACKS = [
    "Attack",
    "Described",
    "Lira",
    "Rmia",
    "gradient_dot",
    "label_confidences",
    "lira",
    "logits",
    "loss_threshold",
]
GAMES = [
    "Exposed",
    "MembershipGame",
    "Played",
    "Pool",
    "Replaced",
    "Targets",
    "attacks",
    "exposure",
    "fewest_models",
    "game_evidence",
    "training",
]
MOST_WORDS = 20


def test_the_public_names_are_these():
    assert sorted(ta.__all__) == sorted(NAMES)
    assert len(set(ta.__all__)) == len(ta.__all__)


def test_the_public_names_of_worlds_are_these():
    assert sorted(worlds.__all__) == sorted(WORLDS + FITTING)
    assert sorted(policies.__all__) == sorted(POLICIES)
    assert sorted(frameworks.__all__) == sorted(FRAMEWORKS)
    assert sorted(described.__all__) == ["Described", "Target", "parse", "read"]


def test_the_names_for_deployments_are_these():
    assert sorted(deployments.__all__) == sorted(DEPLOYMENTS)
    fields = [
        "name",
        "curator",
        "published",
        "variant",
        "model",
        "unit",
        "epsilon",
        "delta",
        "rho",
        "status",
        "source",
    ]
    assert list(inspect.signature(deployments.Deployment).parameters) == fields
    assert list(inspect.signature(deployments.gains).parameters) == [
        "asked",
        "beside",
        "fpr",
        "prior",
    ]


def test_the_names_for_fleets_are_these():
    assert sorted(fleet.__all__) == sorted(FLEET)


def test_the_names_for_audits_of_trainings_are_these():
    assert sorted(attacks.__all__) == sorted(ATTACKS)
    assert set(GAMES) <= set(audit.__all__)


def test_nothing_else_is_in_sight():
    """Besides its modules the package shows only what it lists."""
    shown = {name for name in vars(ta) if not name.startswith("_")}
    modules = {name for name in shown if isinstance(getattr(ta, name), types.ModuleType)}
    assert shown - modules == set(NAMES)


def test_star_import_brings_the_names():
    namespace = {}
    exec("from tellapart import *", namespace)  # noqa: S102
    assert set(NAMES) <= set(namespace)


def test_there_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", ta.__version__)


def owner(kind, attribute):
    """Whether a class of tellapart, and not a builtin one, defines the attribute."""
    home = next(one for one in kind.__mro__ if attribute in vars(one))
    return home.__module__.startswith("tellapart.")


def documented():
    """Every public name, and every public method and property of every public class."""
    names = {name: getattr(ta, name) for name in NAMES}
    names |= {f"audit.{name}": getattr(audit, name) for name in audit.__all__}
    names |= {f"audit.domains.{name}": getattr(domains, name) for name in domains.__all__}
    names |= {f"fleet.{name}": getattr(fleet, name) for name in FLEET}
    spoken = ("CAVEATS", "DEPLOYMENTS", "LEFT_OUT", "SOURCE")  # tuples and a text
    told = [name for name in DEPLOYMENTS if name not in spoken]
    names |= {f"deployments.{name}": getattr(deployments, name) for name in told}
    names |= {f"audit.attacks.{name}": getattr(attacks, name) for name in attacks.__all__}
    names |= {f"audit.canaries.{name}": getattr(canaries, name) for name in canaries.__all__}
    names |= {f"report.{name}": getattr(report, name) for name in report.__all__}
    names |= {f"worlds.{name}": getattr(worlds, name) for name in worlds.__all__}
    names |= {f"worlds.policies.{name}": getattr(policies, name) for name in policies.__all__}
    names |= {f"worlds.frameworks.{name}": getattr(frameworks, name) for name in FRAMEWORKS}
    names |= {f"worlds.described.{name}": getattr(described, name) for name in described.__all__}
    names |= {f"worlds.streams.{name}": getattr(streams, name) for name in streams.__all__}
    names |= {f"worlds.{name}": getattr(worlds, name) for name in FITTING}
    for name, thing in names.items():
        # A tuple, unions, mappings and modules: what they hold speaks for itself.
        held = ("MECHANISMS", "audit.Method", "fleet.Recipe", "report.DESIGNS", "report.QUESTIONS")
        if name in held or isinstance(thing, types.ModuleType):
            continue
        yield name, thing
        if not inspect.isclass(thing):
            continue
        for attribute, value in inspect.getmembers(thing):
            asked = inspect.isroutine(value) or isinstance(value, property)
            if asked and not attribute.startswith("_") and owner(thing, attribute):
                yield f"{name}.{attribute}", value


THINGS = dict(documented())


def first_sentence(docstring):
    paragraph = docstring.strip().split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.?!])\s", paragraph)[0]


@pytest.mark.parametrize("name", THINGS)
def test_the_first_sentence_has_at_most_twenty_words(name):
    docstring = inspect.getdoc(THINGS[name])
    assert docstring, f"{name} has no docstring"
    sentence = first_sentence(docstring)
    assert len(sentence.split()) <= MOST_WORDS, sentence
    assert sentence[-1] in ".?!", f"{name}: the first sentence has no end: {sentence}"


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
        ta.TradeoffCurve.beta: ["self", "alpha"],
        ta.TradeoffCurve.tpr: ["self", "fpr"],
        ta.TradeoffCurve.delta: ["self", "epsilon"],
        ta.TradeoffCurve.epsilon: ["self", "delta"],
        ta.TradeoffCurve.rates: ["self", "threshold"],
    }
    for function, parameters in signatures.items():
        assert list(inspect.signature(function).parameters)[: len(parameters)] == parameters
    signatures = {
        audit.Scores: ["members", "others"],
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
        audit.StepAudit.epsilon_lower: ["self", "delta"],
        canaries.dirac_gradients: ["count", "dimension", "norm"],
        canaries.mislabelled: ["X", "y", "count", "seed"],
        canaries.Canaries.inclusion: ["self", "seed"],
        canaries.Canaries.scores: ["self", "values", "inclusion"],
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
