"""From attack scores to a verdict: what was shown about a privacy claim, at what confidence.

>>> import tellapart as ta
>>> from tellapart import audit
>>> attack = audit.Counts(true_positives=900, members=1_000, false_positives=100, non_members=1_000)
>>> evidence = audit.from_counts(attack, confidence=0.95)
>>> audit.judge(ta.guarantee(epsilon=1.5, delta=1e-4), evidence).refuted
True

- `scores` and `methods` go in, `many_run_audit` and `one_run_audit` look, `verdict` judges,
  `summary` puts it into words;
- `counts`: Clopper-Pearson, Buehler and one-run bounds; `evidence`: one module a kind of test;
- `probing`: black-box calls; `searching`: the worst inputs; `trainings`: games, LiRA, matrices;
- `level_budget`: the multiple-testing budget; `bounds`: what is shown; `attack_metrics` describes;
- `released_tables`: singling out, linkability and inference in synthetic data;
- `language`: canary texts, token losses and exposure for one-run audits of language models;
- `planning`: what each design could show, and how long it takes;
- `checkpoints`: whether a run that goes on is the same run.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.audit import language
from tellapart.audit.attack_metrics import metrics
from tellapart.audit.counts import intervals
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.evidence.base import Design, Evidence
from tellapart.audit.evidence.count import from_counts
from tellapart.audit.evidence.e_process import Wager, epsilon_sequence
from tellapart.audit.evidence.joint import together
from tellapart.audit.evidence.reconstruction_counts import reconstruction
from tellapart.audit.level_budget import LevelBudget
from tellapart.audit.many_run_audit import many_runs
from tellapart.audit.methods import (
    Band,
    Credible,
    Fixed,
    Guessing,
    IndependentCanaries,
    Prior,
    Ranks,
    Split,
)
from tellapart.audit.models_needed import fewest_models
from tellapart.audit.one_run_audit import one_run
from tellapart.audit.planning import Access, plan
from tellapart.audit.probing.calling.program import Program
from tellapart.audit.probing.floating_point import probe_bits
from tellapart.audit.probing.probe_run import probe
from tellapart.audit.released_tables.table_audit import tables
from tellapart.audit.scores import Orientation, Scores, preview
from tellapart.audit.searching import domains
from tellapart.audit.searching.worst_pair import search
from tellapart.audit.trainings import attacks, canaries
from tellapart.audit.trainings.inclusion import Coins
from tellapart.audit.trainings.matrix_audit import Matrix
from tellapart.audit.trainings.matrix_files import Outputs
from tellapart.audit.trainings.membership_game import (
    MembershipGame,
    Pool,
    Replaced,
    Targets,
)
from tellapart.audit.trainings.opacus_watch import watch
from tellapart.audit.trainings.step_audit import step
from tellapart.audit.trainings.training_audit import (
    exposure,
    game_evidence,
    training,
)
from tellapart.audit.trainings.white_box import watch_updates
from tellapart.audit.verdict import Verdict, judge

__all__ = [
    "Access",
    "Band",
    "Coins",
    "Counts",
    "Credible",
    "Design",
    "Evidence",
    "Fixed",
    "Guessing",
    "IndependentCanaries",
    "LevelBudget",
    "Matrix",
    "MembershipGame",
    "Orientation",
    "Outputs",
    "Pool",
    "Prior",
    "Program",
    "Ranks",
    "Replaced",
    "Scores",
    "Split",
    "Targets",
    "Verdict",
    "Wager",
    "attacks",
    "canaries",
    "domains",
    "epsilon_sequence",
    "exposure",
    "fewest_models",
    "from_counts",
    "game_evidence",
    "intervals",
    "judge",
    "language",
    "many_runs",
    "metrics",
    "one_run",
    "plan",
    "preview",
    "probe",
    "probe_bits",
    "reconstruction",
    "search",
    "step",
    "tables",
    "together",
    "training",
    "watch",
    "watch_updates",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
