"""Glossary: the terms that the page uses, each in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.web.answer import Answer, Words
from tellapart.web.controls import Control
from tellapart.web.glossary import TERMS
from tellapart.web.view import View


@dataclass(frozen=True)
class GlossaryState:
    """Nothing is set here."""


def _controls_of(_state: GlossaryState) -> list[Control]:
    return []


def _answer(_state: GlossaryState) -> Answer:
    parts = tuple(Words(name, (sentence,)) for name, sentence in TERMS.items())
    return Answer(headline="Terms on these pages", parts=parts)


VIEW = View(
    "/glossary",
    "Glossary",
    "What do the terms mean?",
    "",
    GlossaryState,
    _controls_of,
    _answer,
    listed=False,
)
