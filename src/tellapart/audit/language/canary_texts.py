"""Canary texts for language models: random tokens, new tokens, secrets, filled templates.

A canary is one example of the training set, as the claim counts examples (the unit of privacy). All
texts of a set differ, so that none is in the training for another one's sake.
"""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import _checks, run
from tellapart.errors import InvalidArgument

DIGITS = string.digits
# Keeps the draws of texts apart from those of their coins.
_TEXTS = 3
_MOST = 10**6
# How often a text is drawn anew because it cannot be written or is there already.
_TRIES = 1000
_SECRET, _NUMBER = "secret", "number"


@dataclass(frozen=True)
class Secret:
    """A secret inside a text: symbols drawn uniformly, and what stands before and after it."""

    before: str
    symbols: tuple[str, ...]
    after: str
    alphabet: tuple[str, ...]

    @property
    def candidates(self) -> int:
        """How many secrets there could have been instead, itself among them."""
        return int(len(self.alphabet) ** len(self.symbols))

    @property
    def bits(self) -> float:
        """The entropy of the secret."""
        return len(self.symbols) * math.log2(len(self.alphabet))

    @property
    def number(self) -> int:
        """Its own place among the candidates."""
        places = {symbol: k for k, symbol in enumerate(self.alphabet)}
        number = 0
        for symbol in self.symbols:
            number = number * len(self.alphabet) + places[symbol]
        return number

    def text(self, candidate: int) -> str:
        """The text with another secret in the same place, by its number."""
        size, symbols = len(self.alphabet), list[str]()
        for _ in self.symbols:
            candidate, symbol = divmod(candidate, size)
            symbols.append(self.alphabet[symbol])
        return f"{self.before}{''.join(reversed(symbols))}{self.after}"


@dataclass(frozen=True, eq=False)
class CanaryTexts:
    """Texts made to be found; ``secrets`` has what is secret in each, where they were so made."""

    texts: tuple[str, ...]
    secrets: tuple[Secret, ...] | None = None

    def __post_init__(self) -> None:
        if not self.texts or not all(isinstance(text, str) and text for text in self.texts):
            _checks.refuse("texts", "be texts, none of them empty", list(self.texts))
        if len(set(self.texts)) < len(self.texts):
            twice = next(text for text in self.texts if self.texts.count(text) > 1)
            rule = "differ from each other (one text twice has two coins): add {number} to it"
            _checks.refuse("texts", rule, twice)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.texts)


def random_tokens(tokenizer: Any, count: int, length: int, seed: int) -> CanaryTexts:
    """Texts of tokens drawn uniformly, which a model can only know by heart.

    ``length`` tokens are drawn of those that show something. Another tokenizer, and sometimes this
    one, splits a text into other tokens; the text is what is planted.

    >>> from tellapart.audit import language
    >>> class Words:                                   # any tokenizer of Hugging Face's interface
    ...     all_special_ids = [0]
    ...     __len__ = lambda self: 5
    ...     decode = lambda self, ids: " ".join("- red green blue grey".split()[i] for i in ids)
    >>> language.random_tokens(Words(), count=2, length=3, seed=1).texts
    ('red red blue', 'grey blue blue')
    """
    long = _checks.whole(1, 10**6, length=length)
    draw = _token_drawer(tokenizer)
    return CanaryTexts(_distinct(count, seed, lambda rng, _: tokenizer.decode(draw(rng, long))))


def new_tokens(tokenizer: Any, count: int, length: int, seed: int) -> CanaryTexts:
    """Texts that each end in a token of their own, which no other text holds.

    Nothing but its canary teaches the model a new token (Panda et al. 2025): score it by
    ``losses(...).tail(1)``. The tokenizer gets ``count`` new tokens, whoever is in; call
    ``model.resize_token_embeddings(len(tokenizer))`` before the training.

    >>> from tellapart.audit import language
    >>> class Words:
    ...     all_special_ids = [0]
    ...     __len__ = lambda self: 5
    ...     decode = lambda self, ids: " ".join("- red green blue grey".split()[i] for i in ids)
    ...     add_tokens = lambda self, tokens: len(tokens)
    >>> language.new_tokens(Words(), count=2, length=3, seed=1).texts
    ('red red <canary-0>', 'blue grey <canary-1>')
    """
    many, long = _checks.whole(1, _MOST, count=count), _checks.whole(2, 10**6, length=length)
    draw = _token_drawer(tokenizer)  # before the new ones are there
    names = [f"<canary-{k}>" for k in range(many)]
    added = tokenizer.add_tokens(names)
    if added != many:
        rule = f"take {many} new tokens, <canary-0> and so on: begin with one that has none of them"
        _checks.refuse("tokenizer", rule, added)
    return CanaryTexts(
        _distinct(many, seed, lambda rng, k: f"{tokenizer.decode(draw(rng, long - 1))} {names[k]}")
    )


def secrets(
    templates: str | Sequence[str],
    count: int,
    bits: float,
    seed: int,
    *,
    alphabet: Sequence[str] = DIGITS,
    slots: Mapping[str, Sequence[str]] | None = None,
) -> CanaryTexts:
    """Texts with a secret each, drawn uniformly from at least 2^``bits`` candidates.

    ``{secret}`` stands for as many symbols of the ``alphabet`` as it takes; the rest is filled as
    by `from_templates`. Exposure (`secret_exposure`) is at most the secret's bits.

    >>> from tellapart.audit import language
    >>> made = language.secrets("My key is {secret}", count=2, bits=20, seed=1)
    >>> made.texts, round(made.secrets[0].bits, 2)
    (('My key is 1158756', 'My key is 2290686'), 23.25)
    """
    entropy = _checks.finite_above_zero(bits=bits)
    symbols = tuple(alphabet)
    if len(symbols) < 2 or not all(map(_is_text, symbols)):
        _checks.refuse("alphabet", "be two symbols or more", alphabet)
    ordered = sorted(symbols)
    if any(after.startswith(before) for before, after in itertools.pairwise(ordered)):
        rule = "have no symbol twice or as another's beginning: two secrets would read the same"
        _checks.refuse("alphabet", rule, alphabet)
    # A bit is not asked for that rounding made.
    length = max(math.ceil(entropy / math.log2(len(symbols)) - 1e-9), 1)
    if length * math.log2(len(symbols)) > 62:
        _checks.refuse("bits", "be at most 60, so that candidates can be drawn", bits)
    frames = _templates(templates, slots, {_SECRET})
    made = dict[str, Secret]()

    def text(rng: np.random.Generator, number: int) -> str:
        before, after = _filled(frames, slots, rng, number)
        drawn = tuple(symbols[k] for k in rng.integers(len(symbols), size=length))
        whole = f"{before}{''.join(drawn)}{after}"
        made[whole] = Secret(before, drawn, after, symbols)
        return whole

    texts = _distinct(count, seed, text)
    return CanaryTexts(texts, tuple(made[each] for each in texts))


def from_templates(
    templates: str | Sequence[str],
    count: int,
    seed: int,
    *,
    slots: Mapping[str, Sequence[str]] | None = None,
) -> CanaryTexts:
    """Texts of your own, with slots filled by chance.

    Templates take turns; ``{number}`` is the canary's number, and ``{name}`` an entry of
    ``slots["name"]``, each as likely.

    >>> from tellapart.audit import language
    >>> slots = {"who": ["Ada", "Emmy", "Sofia"]}
    >>> language.from_templates("{who} has key {number}.", count=2, seed=1, slots=slots).texts
    ('Ada has key 0.', 'Ada has key 1.')
    """
    frames = _templates(templates, slots, set())
    return CanaryTexts(
        _distinct(count, seed, lambda rng, number: _filled(frames, slots, rng, number)[0])
    )


# -- inside ----------------------------------------------------------------------------------------


def _distinct(
    count: int, seed: int, text: Callable[[np.random.Generator, int], str]
) -> tuple[str, ...]:
    """So many texts, each drawn by itself until it is none of those before it."""
    many = _checks.whole(1, _MOST, count=count)
    rng = run.generator((_checks.whole(0, 2**62, seed=seed), _TEXTS))
    made: dict[str, None] = {}
    for number in range(many):
        for _ in range(_TRIES):
            drawn = text(rng, number)
            if drawn.strip() and "\ufffd" not in drawn and drawn not in made:
                break
        else:
            rule = f"be at most {len(made)}, as no other text was found in {_TRIES:,} draws"
            _checks.refuse(
                "count", f"{rule} (longer ones, or {{number}} in a template, help)", many
            )
        made[drawn] = None
    return tuple(made)


def _token_drawer(tokenizer: Any) -> Callable[[np.random.Generator, int], list[int]]:
    for name in ("decode", "all_special_ids", "__len__"):
        if not hasattr(tokenizer, name):
            _checks.refuse("tokenizer", f"have {name}, as Hugging Face's have", tokenizer)
    special = np.array(sorted(tokenizer.all_special_ids), dtype=np.int64)
    usual = np.setdiff1d(np.arange(len(tokenizer)), special)
    if usual.size < 2:
        _checks.refuse("tokenizer", "know two tokens or more that are not special", usual.size)
    return lambda rng, length: [int(each) for each in rng.choice(usual, length)]


def _is_text(symbol: object) -> bool:
    return isinstance(symbol, str) and symbol != ""


Frame = list[tuple[str, str | None]]  # what stands before each slot, and its name


def _templates(
    templates: str | Sequence[str], slots: Mapping[str, Sequence[str]] | None, needed: set[str]
) -> list[Frame]:
    every = [templates] if isinstance(templates, str) else list(templates)
    if not every or not all(map(_is_text, every)):
        _checks.refuse("templates", "be a text with slots such as {number}, or several", templates)
    for name, entries in (slots or {}).items():
        if name in (_SECRET, _NUMBER):
            _checks.refuse("slots", f"leave {{{name}}} to be drawn", name)
        if isinstance(entries, str) or not entries or not all(map(_is_text, entries)):
            _checks.refuse(f"slots[{name!r}]", "be a list of texts", entries)
    return [_parsed(template, set(slots or {}) | {_NUMBER} | needed, needed) for template in every]


def _parsed(template: str, known: set[str], needed: set[str]) -> Frame:
    try:
        parts = [(before, name) for before, name, *_ in string.Formatter().parse(template)]
    except ValueError as error:
        raise InvalidArgument(
            f"templates must have slots such as {{secret}}, and braces doubled: {error}"
        ) from error
    names = [name for _, name in parts if name is not None]
    for name in names:
        if name not in known:
            rule = f"have slots that are known ({', '.join(sorted(known))}), or slots= names them"
            _checks.refuse("templates", rule, f"{{{name}}}")
    for name in needed:
        if names.count(name) != 1:
            _checks.refuse("templates", f"have {{{name}}} once", template)
    return parts


def _filled(
    frames: list[Frame],
    slots: Mapping[str, Sequence[str]] | None,
    rng: np.random.Generator,
    number: int,
) -> list[str]:
    """A template's text, cut where the secret goes."""
    parts = [""]
    for before, name in frames[number % len(frames)]:
        parts[-1] += before
        if name == _SECRET:
            parts.append("")
        elif name == _NUMBER:
            parts[-1] += str(number)
        elif name is not None and slots is not None:
            parts[-1] += slots[name][int(rng.integers(len(slots[name])))]
    return parts
