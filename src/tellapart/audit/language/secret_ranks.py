"""The exposure of secrets in a language model (Carlini et al. 2019, "The Secret Sharer").

Exposure is log2 of the number of candidates less log2 of the secret's rank among them by loss. With
every candidate scored it is exact, ties counting against the secret. Otherwise candidates are drawn
uniformly and independently: each is at least as likely as the secret with probability rank over
candidates, so that a Clopper-Pearson limit on that share, from above, bounds exposure from below.
No law is fitted to the losses: the skew normal of Carlini et al. may err on either side.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tellapart import _checks, run
from tellapart._numeric import binomial
from tellapart._numeric.text import fixed
from tellapart._progress import shown
from tellapart.audit.bounds import percent
from tellapart.audit.evidence.reconstruction_counts import (
    ReconstructionEvidence,
    reconstruction,
)
from tellapart.audit.language.canary_texts import Secret
from tellapart.audit.language.planting import Planted
from tellapart.audit.language.token_losses import LanguageModel, TokenLosses, losses

# Keeps the draws of candidates apart from those of texts and coins.
_CANDIDATES = 4
# The text around a secret, its alphabet and length.
_Frame = tuple[str, str, tuple[str, ...], int]


@dataclass(frozen=True)
class SecretRank:
    """One secret's rank by loss among candidates, and the exposure that it shows.

    ``rank`` is 1 where no other of the candidates ``among`` which it is ranked was as likely.
    """

    canary: int
    included: bool
    rank: int
    among: int
    candidates: int
    exact: bool
    confidence: float

    @property
    def bits(self) -> float:
        """The entropy of the secret, and the largest exposure there is."""
        return math.log2(self.candidates)

    @property
    def exposure(self) -> float:
        """Exposure in bits: exact, or where candidates were drawn a lower bound."""
        if self.exact:
            return self.bits - math.log2(self.rank)
        hits, draws = self.rank - 1, self.among - 1
        share = float(binomial.upper_limit(hits, draws, 1 - self.confidence))
        return min(max(-math.log2(share), 0.0), self.bits)

    def __str__(self) -> str:
        place = "in" if self.included else "left out"
        side = "exact" if self.exact else f"{percent(self.confidence)} confidence, from below"
        return (
            f"canary {self.canary} ({place}): rank {self.rank:,} of {self.among:,}, exposure "
            f"{'' if self.exact else '≥ '}{_told(self)} of "
            f"{fixed(self.bits, up=None)} bits ({side})"
        )


@dataclass(frozen=True)
class SecretExposure:
    """The rank of every planted secret, those left out beside those that were in."""

    ranks: tuple[SecretRank, ...]
    # How many other canaries have the same text around their secret.
    alike: tuple[int, ...]

    @property
    def included(self) -> tuple[SecretRank, ...]:
        """The secrets that were in the training."""
        return tuple(rank for rank in self.ranks if rank.included)

    @property
    def left_out(self) -> tuple[SecretRank, ...]:
        """The secrets that were not: what a model says of one that it never saw."""
        return tuple(rank for rank in self.ranks if not rank.included)

    def evidence(self, guesses: int = 1, confidence: float = 0.95) -> ReconstructionEvidence:
        """What naming each secret among the best ``guesses`` shows; settle their number before.

        All secrets are in one model, so that only the mean number of successes is bounded. A blind
        guess is right with probability guesses over candidates, the other secrets being known.
        """
        inside = self.included
        if not inside:
            _checks.refuse("planted", "have secrets that were in the training", len(self.ranks))
        many = _checks.whole(1, guesses=guesses)
        blind = max(
            many / rank.among * rank.candidates / (rank.candidates - others)
            for rank, others in zip(self.ranks, self.alike, strict=True)
            if rank.included
        )
        if blind >= 1:
            rule = f"be fewer than the candidates ({min(rank.among for rank in inside):,})"
            _checks.refuse("guesses", rule, guesses)
        return reconstruction(
            successes=sum(rank.rank <= many for rank in inside),
            trials=len(inside),
            baseline=blind,
            independent=False,
            confidence=confidence,
        )

    def __str__(self) -> str:
        side = "exact" if all(rank.exact for rank in self.ranks) else "lower bounds"
        parts = [
            f"{len(some):,} {name}: median {_told(_median(some))}, "
            f"largest {_told(max(some, key=lambda rank: rank.exposure))}"
            for name, some in (("in", self.included), ("left out", self.left_out))
            if some
        ]
        bits = fixed(max(rank.bits for rank in self.ranks), up=None)
        return f"Exposure in bits ({side}; at most {bits}). {'; '.join(parts)}"


def secret_exposure(
    model: LanguageModel,
    planted: Planted,
    *,
    candidates: int = 1_000,
    seed: int = 0,
    confidence: float = 0.95,
    batch: int = 64,
    folder: str | os.PathLike[str] | None = None,
    progress: run.Progress | bool = False,
) -> SecretExposure:
    """How well the model knows each planted secret: its rank by loss among candidates.

    Where there are at most so many ``candidates`` all are scored, and ranks and exposures are
    exact. Otherwise as many are drawn for each template, and every exposure is a lower bound by
    itself, with this confidence. `folder` and `progress` are those of `losses`.

    >>> from tellapart.audit import language
    >>> import tempfile, torch
    >>> class Sevens(torch.nn.Module):                 # knows that secrets are made of sevens
    ...     def forward(self, input_ids, attention_mask):
    ...         self.logits = torch.zeros(*input_ids.shape, 128)
    ...         self.logits[..., ord("7")] = 5.0
    ...         return self
    >>> def tokenizer(texts, return_special_tokens_mask):
    ...     ids = [[ord(sign) for sign in text] for text in texts]
    ...     return {"input_ids": ids, "special_tokens_mask": [[0] * len(each) for each in ids]}
    >>> made = language.secrets("{number}: {secret}", count=4, bits=6, seed=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     planted = language.plant(made, f"{folder}/canaries.jsonl", seed=1)
    >>> found = language.secret_exposure(language.LanguageModel(Sevens(), tokenizer), planted)
    >>> print(found.ranks[0])
    canary 0 (in): rank 100 of 100, exposure 0.0000 of 6.6439 bits (exact)
    """
    _checks.instance(Planted, "what language.plant gives", planted=planted)
    most = _checks.whole(1, 10**7, candidates=candidates)
    certain = _checks.inside_unit(confidence=confidence)
    start = _checks.whole(0, 2**62, seed=seed)
    secrets = planted.canaries.secrets
    if secrets is None:
        _checks.refuse("planted", "hold secrets, as language.secrets makes them", planted.texts[0])
    frames: dict[_Frame, list[int]] = {}
    for number, secret in enumerate(secrets):
        key = (secret.before, secret.after, secret.alphabet, len(secret.symbols))
        frames.setdefault(key, []).append(number)
    texts = sum(min(secrets[numbers[0]].candidates, most) for numbers in frames.values())
    ranks: dict[int, SecretRank] = {}
    with shown(progress, "candidates", texts) as tell:
        for place, numbers in enumerate(frames.values()):
            some = [secrets[number] for number in numbers]
            rng = run.generator((start, _CANDIDATES, place))
            ask = partial(
                losses,
                model,
                batch=batch,
                folder=None if folder is None else Path(folder) / f"template-{place:05d}",
                progress=False if tell is None else partial(_onward, tell, place, len(frames)),
            )
            exact = some[0].candidates <= most
            placed = _all_ranks(some, ask) if exact else _drawn_ranks(some, ask, most, rng)
            for number, rank in zip(numbers, placed, strict=True):
                ranks[number] = SecretRank(
                    canary=number,
                    included=bool(planted.inclusion[number]),
                    rank=rank,
                    among=some[0].candidates if exact else most + 1,
                    candidates=some[0].candidates,
                    exact=exact,
                    confidence=certain,
                )
    alike = {number: len(numbers) - 1 for numbers in frames.values() for number in numbers}
    order = range(len(secrets))
    return SecretExposure(tuple(ranks[k] for k in order), tuple(alike[k] for k in order))


# -- inside ----------------------------------------------------------------------------------------


def _all_ranks(some: list[Secret], ask: Callable[[list[str]], TokenLosses]) -> list[int]:
    """Ranks among all candidates, the secret itself being one of them."""
    total = ask([some[0].text(k) for k in range(some[0].candidates)]).total
    return [int(np.count_nonzero(total <= total[secret.number])) for secret in some]


def _drawn_ranks(
    some: list[Secret],
    ask: Callable[[list[str]], TokenLosses],
    draws: int,
    rng: np.random.Generator,
) -> list[int]:
    """Ranks among candidates drawn uniformly; a draw of the secret itself counts against it."""
    drawn = rng.integers(some[0].candidates, size=draws)
    own = [secret.number for secret in some]
    total = ask([some[0].text(int(k)) for k in (*drawn, *own)]).total
    return [
        1 + int(np.count_nonzero((total[:draws] <= mine) | (drawn == number)))
        for mine, number in zip(total[draws:], own, strict=True)
    ]


def _onward(tell: run.Progress, place: int, places: int, share: float) -> None:
    tell((place + share) / places)


def _median(ranks: Sequence[SecretRank]) -> SecretRank:
    """The lower median, which errs as each exposure does."""
    return sorted(ranks, key=lambda rank: rank.exposure)[(len(ranks) - 1) // 2]


def _told(rank: SecretRank) -> str:
    """Exposure in digits: rounded down where it is a lower bound."""
    return fixed(rank.exposure, up=None if rank.exact else False)
