"""Mechanisms in words: what a person would write as a title, and never what a person types."""

import pytest

import tellapart as ta
from tellapart.mechanisms.catalogue import KINDS
from tellapart.mechanisms.in_words import in_words, text_in_words


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_has_a_title_of_its_own(kind):
    title = text_in_words(kind.first_text)
    assert title.startswith("Any mechanism with " if kind.name == "any" else kind.words)
    assert ":" not in title
    assert "_" not in title
    others = {text_in_words(other.first_text) for other in KINDS.values() if other is not kind}
    assert title not in others


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("any:mu=1", "Any mechanism with μ = 1"),
        ("any:epsilon=1,delta=0", "Any mechanism with ε = 1"),
        (
            "any:epsilon=0.1,delta=1e-6,repeated=12",
            "Any mechanism with ε = 0.1, δ = 1e-6, 12 times",
        ),
        (
            "dpsgd:noise_multiplier=1,epochs=1,batch_size=256,data_size=60000,scheme=fixed-size",
            "DP-SGD, noise multiplier 1, 1 epoch, batches of 256, 60,000 records, "
            "sampling scheme fixed-size",
        ),
        ("gaussian:sigma=2.5,sampled=0.01", "Gaussian, σ = 2.5, subsampled at rate 0.01"),
    ],
)
def test_texts(text, title):
    assert text_in_words(text) == title


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        (ta.Laplace(2, sensitivity=3), "Laplace, scale 2, sensitivity 3"),
        (ta.Promise(1).repeated(3), "Any mechanism with ε = 1, 3 times"),
        (ta.Laplace(1).then(ta.Promise(1)), "Laplace, scale 1, then any mechanism with ε = 1"),
        (ta.guarantee(mu=0.5), "Any mechanism with μ = 0.5"),
    ],
)
def test_subjects(subject, title):
    assert in_words(subject) == title


@pytest.mark.parametrize(
    "subject",
    [
        ta.RandomizedResponse(1).shuffled(users=1_000),
        ta.Gaussian(2, neighbours=ta.Neighbours.REPLACE),
        ta.Gaussian(2, neighbours=ta.Neighbours.REPLACE).sampled(
            0.1, ta.Sampling.WITHOUT_REPLACEMENT
        ),
    ],
)
def test_what_words_would_leave_out_is_said_as_typed(subject):
    assert in_words(subject) == repr(subject)
