"""Modules and names that moved in 0.2: each old path works until 0.3, and warns with the new.

Arguments that were renamed are accepted under either name; the old one warns.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from functools import wraps
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from types import ModuleType
    from typing import Any
else:  # importlib.abc brings files, archives and more, which every command would wait for
    Loader = object

MOVED = {
    "tellapart.audit.attacks": "tellapart.audit.trainings.attacks",
    "tellapart.audit.canaries": "tellapart.audit.trainings.canaries",
    "tellapart.audit.domains": "tellapart.audit.searching.domains",
    "tellapart.audit.game": "tellapart.audit.trainings.membership_game",
    "tellapart.audit.intervals": "tellapart.audit.counts.intervals",
    "tellapart.mechanisms.named": "tellapart.mechanisms.catalogue",
    "tellapart.worlds.fitting": "tellapart.worlds",
    "tellapart.worlds.quilts": "tellapart.worlds",
    "tellapart.worlds.streams": "tellapart.worlds.markov.streams",
}
# By package: which modules have the names that it had in 0.1, some as "old:new".
NAMES = {
    "tellapart": {
        "tellapart.curve.algebra": "crossings",
        "tellapart.curve.base": "Rates",
        "tellapart.curve.region": "MechanismRegion",
        "tellapart.mechanisms.combine": "Repeated Sampled Sequence",
        "tellapart.mechanisms.other_accountants": "CentralLimit",
    },
    "tellapart.risk": {
        "tellapart.risk": "success:accuracy",
        "tellapart.risk.catalogue": "Reading",
        "tellapart.risk.decisions": "AttackPoint FScoreAttack f_score_attack",
    },
    "tellapart.choose": {
        "tellapart.choose.calibrate": "Choice",
        "tellapart.choose.comparison": "Comparison Pair",
        "tellapart.choose.frontiers": "Frontier FrontierRow",
        "tellapart.choose.limit": "Limit",
        "tellapart.choose.noise_choice": "NoiseChoice",
        "tellapart.choose.noise_tables": "NoiseRow NoiseTable",
    },
    "tellapart.audit": {
        "tellapart.audit": "Ledger:LevelBudget",
        "tellapart.audit.attack_metrics": "Metrics",
        "tellapart.audit.bounds": "Basis LowerBound",
        "tellapart.audit.evidence.base": "Finding",
        "tellapart.audit.evidence.e_process": "Pairs wealth",
        "tellapart.audit.level_budget": "Entry",
        "tellapart.audit.methods": "Method",
        "tellapart.audit.searching.worst_pair": "Search Tried",
        "tellapart.audit.trainings.membership_game": "Played",
        "tellapart.audit.trainings.step_audit": "StepAudit",
        "tellapart.audit.trainings.step_pairs": "StepPair",
        "tellapart.audit.trainings.training_audit": "Exposed",
    },
    "tellapart.audit.trainings.attacks": {
        "tellapart.audit.trainings.lira": "Described:LiraDescription logits",
    },
    "tellapart.audit.trainings.canaries": {
        "tellapart.audit.trainings.canaries": "Canaries:CanarySet",
    },
    "tellapart.audit.searching.domains": {
        "tellapart.audit.searching.domain": "Domain",
    },
    "tellapart.audit.counts.intervals": {
        "tellapart.audit.counts.buehler": "Ranking berger_boos_epsilon buehler_p_value",
        "tellapart.audit.counts.clopper_pearson": "Forms delta_lower gaussian_epsilon mu_lower",
        "tellapart.audit.counts.credible": "jeffreys_epsilon joint_beta_epsilon",
        "tellapart.audit.counts.score": "score_epsilon",
    },
    "tellapart.zoo": {
        "tellapart.zoo.specimen": "Flaw Release",
        "tellapart.zoo.training": "Training",
    },
    "tellapart.accountants.opacus": {
        "tellapart.accountants.opacus": "CurveAccountant:OpacusAccountant",
    },
    "tellapart.fleet": {
        "tellapart.fleet": "Linear:LogisticRegression",
        "tellapart.fleet.architectures": "Architecture",
        "tellapart.fleet.recipes": "Recipe",
        "tellapart.fleet.trained": "Fleet",
    },
    "tellapart.worlds": {
        "tellapart.worlds.adversary": "Coefficients",
        "tellapart.worlds.markov.fitting": "FittedChain",
        "tellapart.worlds.markov.laplace_tails": "chain_log_mgf interior_log_mgf",
        "tellapart.worlds.markov.quilts": "Mixing Quilt mixing quilt_scale_approximate",
        "tellapart.worlds.models.base": "FiniteModel",
        "tellapart.worlds.models.fitted_tables": "FittedTable",
        "tellapart.worlds.models.laws": "FiniteLaw NormalLaw VectorLaw",
        "tellapart.worlds.secret_test": "SecretTest Witness",
        "tellapart.worlds.wasserstein_distance": "Widest widest",
    },
    "tellapart.worlds.frameworks": {
        "tellapart.reproduce.framework_orderings": "COUNTEREXAMPLES orderings",
        "tellapart.reproduce.framework_orderings.counterexamples": "Counterexample",
        "tellapart.reproduce.framework_orderings.experiment": (
            "Claim Example Orderings Pair:ComparedPair Tally Verdict:OrderVerdict"
        ),
        "tellapart.worlds.frameworks.at_delta": (
            "approximate_dp approximate_group approximate_pufferfish"
        ),
        "tellapart.worlds.frameworks.comparison": (
            "Comparison:FrameworkComparison LeftOut:FrameworkLeftOut"
        ),
        "tellapart.worlds.frameworks.dependent_dp": "dependence_sensitivity pairwise_coefficient",
        "tellapart.worlds.frameworks.every_record": "ByRecord",
        "tellapart.worlds.frameworks.inferential_privacy": "ProductPriors",
        "tellapart.worlds.frameworks.membership_privacy": "membership_epsilon",
        "tellapart.worlds.frameworks.pufferfish_privacy": "worst_curve",
        "tellapart.worlds.frameworks.result": "Side Standing:FrameworkResult",
        "tellapart.worlds.frameworks.results_text": "as_table",
    },
    "tellapart.worlds.models": {
        "tellapart.worlds": (
            "Exchangeable GaussianRecords ImpossibleSecret Independent JointTable Linear "
            "MarkovChain Predicate RecordIn RecordValue Sum TreeNetwork Vector"
        ),
        "tellapart.worlds.markov.laplace_tails": "chain_log_mgf interior_log_mgf",
        "tellapart.worlds.models.base": "FiniteModel",
        "tellapart.worlds.models.laws": "FiniteLaw NormalLaw VectorLaw",
    },
    "tellapart.worlds.policies": {
        "tellapart.worlds.policies.policy": "Sensitivity",
    },
    "tellapart.report": {
        "tellapart.audit.summary": "DESIGNS DesignWords Shown",
        "tellapart.report.checklist": "Question",
        "tellapart.report.model": "Input Item Made Meaning Traced",
        "tellapart.report.writing": "target",
    },
    "tellapart.reproduce": {
        "tellapart.reproduce.table": "Cell:TableCell Verdict:CellVerdict judge",
    },
}


Called = TypeVar("Called", bound="Callable[..., Any]")


def renamed(**new: str) -> Callable[[Called], Called]:
    """Old names of arguments by the new: a function, or a class, accepts either.

    >>> @renamed(others="non_members")
    ... def share(non_members): return 1 / non_members
    >>> share(non_members=2)
    0.5
    """

    def accepting(called: Called) -> Called:
        inner: Any = getattr(called, "__init__") if isinstance(called, type) else called  # noqa: B009

        @wraps(inner)
        def call(*args: Any, **named: Any) -> Any:
            for old in new.keys() & named.keys():
                if new[old] in named:
                    from tellapart.errors import InvalidArgument  # not before a name is asked for

                    raise InvalidArgument(f"{new[old]} must be given once; {old} is its old name")
                warnings.warn(
                    f"{old}= is {new[old]}= since tellapart 0.2; the old name goes with 0.3",
                    DeprecationWarning,
                    stacklevel=2,
                )
                named[new[old]] = named.pop(old)
            return inner(*args, **named)

        if not isinstance(called, type):
            return call  # type: ignore[return-value]
        called.__init__ = call  # type: ignore[misc]
        return called

    return accepting


class _Moved(Loader):
    """Finds a module under its old path, as the module that it is now."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(
            f"{spec.name} is {new} since tellapart 0.2; the old path goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run; but the import system has put the old path's specification in."""
        spec = module.__spec__
        if spec is not None and spec.loader is self:
            module.__spec__ = spec.loader_state


def install() -> None:
    """Look for old paths first: a folder that an older version left would take their place."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Moved())


def now(package: str) -> dict[str, str]:
    """Where each name is that a package had in 0.1, in full."""
    paths = {}
    for module, names in NAMES[package].items():
        for name in names.split():
            old, _, new = name.partition(":")
            paths[old] = f"{module}.{new or old}"
    return paths


def names(package: str) -> Callable[[str], Any]:
    """A package's ``__getattr__`` for names that it had in 0.1."""
    paths = now(package)

    def attribute(name: str) -> Any:
        if name not in paths:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        warnings.warn(
            f"{package}.{name} is {paths[name]} since tellapart 0.2; the old name goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        module, _, new = paths[name].rpartition(".")
        return getattr(importlib.import_module(module), new)

    return attribute
