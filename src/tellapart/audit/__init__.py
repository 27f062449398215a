"""From attack scores to a verdict: what was shown about a privacy claim, at what confidence.

>>> import tellapart as ta
>>> from tellapart import audit
>>> attack = audit.Counts(accused_members=900, members=1_000, accused_others=100, others=1_000)
>>> evidence = audit.from_counts(attack, confidence=0.95)
>>> audit.judge(ta.guarantee(epsilon=1.5, delta=1e-4), evidence).refuted
True
"""

from tellapart.audit import attacks, canaries, domains, intervals, published
from tellapart.audit._by_count import from_counts
from tellapart.audit._many_runs import many_runs
from tellapart.audit._metrics import Metrics, metrics
from tellapart.audit._of_game import Exposed, exposure, game_evidence
from tellapart.audit._one_run import one_run
from tellapart.audit._played import Played
from tellapart.audit._probe import probe
from tellapart.audit._probe_bits import probe_bits
from tellapart.audit._reach import fewest_models
from tellapart.audit._search import Search, Tried, search
from tellapart.audit._step import StepAudit, step
from tellapart.audit._step_pairs import StepPair
from tellapart.audit._together import together
from tellapart.audit._training import training
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts import Counts
from tellapart.audit.evidence import Design, Evidence, Finding
from tellapart.audit.game import MembershipGame, Pool, Replaced, Targets
from tellapart.audit.ledger import Entry, Ledger
from tellapart.audit.methods import (
    Band,
    Credible,
    Fixed,
    Guessing,
    Method,
    Prior,
    Ranks,
    Split,
)
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.sequential import Pairs, Wager, epsilon_sequence, wealth
from tellapart.audit.verdict import Verdict, judge
from tellapart.blackbox.program import Program

__all__ = [
    "Band",
    "Basis",
    "Counts",
    "Credible",
    "Design",
    "Entry",
    "Evidence",
    "Exposed",
    "Finding",
    "Fixed",
    "Guessing",
    "Ledger",
    "LowerBound",
    "MembershipGame",
    "Method",
    "Metrics",
    "Orientation",
    "Pairs",
    "Played",
    "Pool",
    "Prior",
    "Program",
    "Ranks",
    "Replaced",
    "Scores",
    "Search",
    "Split",
    "StepAudit",
    "StepPair",
    "Targets",
    "Tried",
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
    "many_runs",
    "metrics",
    "one_run",
    "probe",
    "probe_bits",
    "published",
    "search",
    "step",
    "together",
    "training",
    "wealth",
]
