"""Start: what one came for, presets to begin with, and published releases side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from tellapart._numeric.text import short
from tellapart.deployments import Deployment, find
from tellapart.web import presets
from tellapart.web.answer import Answer, Next, PublishedRelease
from tellapart.web.controls import Control
from tellapart.web.view import View
from tellapart.web.views import audit, check, choose, compare, correlated, explore

_FPR = 0.01
# A dozen that people know, by their keys in the registry, as briefly as they are called.
_SHOWN = {
    "broadband_coverage": "Microsoft, broadband",
    "wikimedia_current_usage_data": "Wikimedia, page views",
    "wikimedia_historical_usage_data": "Wikimedia, older views",
    "covid19_search_trends_symptoms": "Google, symptoms",
    "movement_ranges_maps": "Meta, movement",
    "vaccine_search_insights": "Google, vaccines",
    "spanish_language_next_word": "Google, keyboard",
    "apple_popular_emojis": "Apple, emojis",
    "assistive_ai": "Microsoft, assistive AI",
    "census_redistricting_data": "US Census, redistricting",
    "birth_dataset": "Israel, live births",
    "census_demographic_and_housing": "US Census, demography",
}
_QUESTIONS: tuple[tuple[View[Any], str, str], ...] = (
    (explore.VIEW, "I have an ε, or a mechanism", "What can an attacker do with its output?"),
    (
        choose.VIEW,
        "I must choose the noise",
        "Say which risks you accept; get the least noise that keeps them.",
    ),
    (
        compare.VIEW,
        "I must choose between mechanisms",
        "Which leaks less, and to which attacker?",
    ),
    (
        check.VIEW,
        "Someone reports an attack",
        "Is it possible under the claim, or does it refute it?",
    ),
    (
        audit.VIEW,
        "I have attack scores in a file",
        "Do they refute the claim, and how surely?",
    ),
    (
        correlated.VIEW,
        "My records are correlated",
        "Families, days, places: what does the attacker know beforehand?",
    ),
)


@dataclass(frozen=True)
class StartState:
    """Nothing is set here."""


def _controls_of(_state: StartState) -> list[Control]:
    return []


@cache
def _releases() -> tuple[PublishedRelease, ...]:
    every = [_release(name, find(key)[0]) for key, name in _SHOWN.items()]
    return tuple(sorted(every, key=lambda release: release.found))


def _release(name: str, deployment: Deployment) -> PublishedRelease:
    caught = 100 * float(deployment.curve().tpr(_FPR))
    text = presets.as_text(deployment)
    said = f"at most {short(caught, 2, True)} of 100 members found"
    unit = deployment.per.partition(";")[0]
    return PublishedRelease(name, f"{deployment.promise}, {unit}", caught, text, said)


def _answer(_state: StartState) -> Answer:
    return Answer(
        headline="What could an attacker find out?",
        aside=(
            "Differential privacy limits how well anyone can tell who was in the data. Start from "
            "your question; every page keeps your settings in its address."
        ),
        next=tuple(
            Next(view.path.lstrip("/"), title, words, link=view.title)
            for view, title, words in _QUESTIONS
        ),
        releases=_releases(),
        presets=tuple(
            Next("explore", words, "", (("mechanism", text),)) for text, words in presets.RECIPES
        ),
    )


VIEW = View(
    "/",
    "Start",
    "",
    "",
    StartState,
    _controls_of,
    _answer,
    listed=False,
)
