"""Deployments by a part of their name, as people type it."""

from __future__ import annotations

import difflib
from typing import NoReturn

from tellapart import _checks
from tellapart.deployments._registry import DEPLOYMENTS, LEFT_OUT
from tellapart.deployments.deployment import Deployment

# Shorter words are near too many others.
_WORD = 4


def find(text: str) -> tuple[Deployment, ...]:
    """The deployments that a name, a curator, a registry entry or words of them stand for.

    >>> [one.name for one in find("wikimedia pageviews")]
    ['Current Pageviews', 'Historical Pageviews']
    """
    _checks.instance(str, "a text", deployment=text)
    asked = text.casefold().split()
    if not asked:
        _checks.refuse("deployment", "not be empty", text)
    whole = " ".join(asked)
    exact = [one for one in DEPLOYMENTS if whole in (one.name.casefold(), one.key)]
    found = exact or [one for one in DEPLOYMENTS if _holds(_words(one), asked)]
    if not found:
        _refuse(text, asked)
    return tuple(found)


def _words(one: Deployment) -> str:
    return f"{one.name} {one.curator} {one.key}".casefold()


def _holds(words: str, asked: list[str]) -> bool:
    return all(word in words for word in asked)


def _refuse(text: str, asked: list[str]) -> NoReturn:
    for one in LEFT_OUT:
        if _holds(f"{one.name} {one.source}".casefold(), asked):
            rule = f"fit its variant of privacy ({one.name} was left out: {one.why})"
            _checks.refuse("deployment", rule, text)
    near = _near(asked)
    hint = f"near: {', '.join(near)}" if near else "such as Popular Emojis, Census or Wikimedia"
    _checks.refuse("deployment", f"be part of a name or a curator in the registry ({hint})", text)


def _near(asked: list[str]) -> list[str]:
    """Names and curators that one of the words, misspelt, may have meant."""
    meant: dict[str, dict[str, None]] = {}
    for one in DEPLOYMENTS:
        meant.setdefault(one.key, {})[one.name] = None
        for told in (one.name, one.curator):
            for word in (told, *told.split()):
                if len(word) >= _WORD:
                    meant.setdefault(word.casefold(), {})[told] = None
    close: dict[str, None] = {}
    for word in (" ".join(asked), *asked):
        for known in difflib.get_close_matches(word, meant, n=3, cutoff=0.7):
            close |= meant[known]
    return list(close)[:5]
