"""The registry: every specimen is well-formed, and every function of the zoo is in it."""

import inspect
import math
import pickle
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart import zoo
from tellapart.mechanisms.subject import curve_of
from tellapart.zoo import additive, choice, local, sparse, steps, summaries
from tellapart.zoo.specimen import Flaw

FAMILIES = (additive, choice, local, sparse, steps, summaries)
specimens = pytest.mark.parametrize("one", zoo.SPECIMENS, ids=lambda one: one.name)


@specimens
def test_it_is_well_formed(one):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one.name)
    assert len(one.pairs) >= 1
    assert all(len(pair) == 2 for pair in one.pairs)
    assert curve_of(one.claim).bound is ta.Bound.LOWER
    assert 0 < one.claimed < math.inf
    assert one.truth is None or one.truth >= 0
    assert one.words.endswith(".")
    assert one.known
    assert one.source


@specimens
def test_its_words_are_one_short_sentence(one):
    assert len(one.words.split()) <= 20


@specimens
def test_its_truth_agrees_with_whether_it_is_correct(one):
    """A correct one leaks at most its claim; one whose law is wrong leaks more."""
    if one.truth is None:
        assert one.correct or one.flaw is Flaw.CALLS
    elif one.correct:
        assert one.truth <= one.claimed * (1 + 1e-9)
    else:
        assert one.truth > one.claimed * 1.01


@specimens
def test_it_is_called_as_all_are(one):
    parameters = inspect.signature(one.mechanism).parameters
    assert list(parameters) == ["data", "rng", "size"]
    assert parameters["size"].default is None


@specimens
def test_it_travels_to_other_processes(one):
    assert pickle.loads(pickle.dumps(one.mechanism)) is one.mechanism  # noqa: S301


@pytest.mark.parametrize("size", [0, -1, 2.5])
def test_a_batch_has_a_size(size):
    with pytest.raises(ta.InvalidArgument, match="size must be"):
        additive.laplace(0.0, np.random.default_rng(0), size)


def test_names_are_unique():
    names = [one.name for one in zoo.SPECIMENS]
    assert len(set(names)) == len(names)


def test_nothing_of_the_zoo_is_left_out():
    """A release is a function whose signature is (data, rng, size=None)."""
    written = {
        name.replace("_", "-")
        for module in FAMILIES
        for name, thing in vars(module).items()
        if inspect.isfunction(thing)
        and thing.__module__ == module.__name__
        and list(inspect.signature(thing).parameters) == ["data", "rng", "size"]
    }
    assert written == {one.name for one in zoo.SPECIMENS}


def test_correct_and_buggy_share_the_zoo():
    names = [one.name for one in zoo.correct() + zoo.buggy()]
    assert sorted(names) == sorted(one.name for one in zoo.SPECIMENS)
    assert all(one.correct for one in zoo.correct())
    assert not any(one.correct for one in zoo.buggy())


def test_a_specimen_is_found_by_name():
    assert zoo.find("sparse-vector-4").mechanism is sparse.sparse_vector_4


def test_a_name_nearly_right_is_answered_with_names():
    with pytest.raises(ta.InvalidArgument, match="did you mean laplace-half-scale"):
        zoo.find("laplace-half-scael")
    with pytest.raises(ta.InvalidArgument, match="name must be that of a specimen, got 7"):
        zoo.find(7)


def test_the_delta_of_a_claim():
    assert zoo.find("laplace").delta == 0
    assert zoo.find("gaussian-analytic").delta == 1e-5
    assert zoo.find("gaussian").delta == 1e-5
    assert zoo.find("keys-above-threshold").delta == 0.01
