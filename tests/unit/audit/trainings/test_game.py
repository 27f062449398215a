"""The membership game: who is in depends on the seed alone, whatever is trained and by whom."""

import functools
import random
from datetime import date

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tellapart as ta
from tellapart import audit, run
from tellapart.audit.checkpoints import data_fingerprint
from tellapart.audit.trainings import shadow_models
from tellapart.errors import BadScores, InvalidArgument, TrainingStopped, Unsupported

PEOPLE = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])


def noisy_sum(people, seed, scale=1.0, targets=1):
    noise = np.random.default_rng(seed).laplace(0, scale)
    return np.full(targets, people.sum() + noise)


def game(**changes):
    given = {"data": PEOPLE, "design": audit.Targets(0), "models": 12, "seed": 5} | changes
    return audit.MembershipGame(**given)


# -- who is in ------------------------------------------------------------------------------------


def naive_coin(seed, model, example, prior):
    """The example's coin, by drawing one number of its tile after another."""
    rng = run.generator((seed, 0, model // 32, example // 64))
    for _ in range(64 * (model % 32) + example % 64):
        rng.random()
    return rng.random() < prior


@pytest.mark.parametrize(
    "design",
    [audit.Targets(3), audit.Targets([4, 1], prior=0.2), audit.Pool(), audit.Pool(prior=0.8)],
    ids=str,
)
def test_coins_depend_on_seed_model_and_example_alone(design):
    played = game(design=design)
    expected = [
        [naive_coin(5, model, int(place), design.prior) for place in played.targets]
        for model in range(12)
    ]
    assert played.inclusion.tolist() == expected


def test_coins_in_many_tiles():
    places = [0, 63, 64, 150, 130]
    one = game(data=200, design=audit.Targets(places, prior=0.3), models=70)
    expected = [[naive_coin(5, model, place, 0.3) for place in places] for model in range(70)]
    assert one.inclusion.tolist() == expected
    assert [one.coins(model).tolist() for model in range(70)] == expected


def test_the_same_example_has_the_same_coin_in_other_games():
    pool = game(design=audit.Pool()).inclusion
    assert np.array_equal(game(design=audit.Targets([5, 2])).inclusion, pool[:, [5, 2]])
    assert np.array_equal(game(design=audit.Pool(), models=5).inclusion, pool[:5])
    assert np.array_equal(game(data=9, design=audit.Pool()).inclusion[:, :6], pool)
    assert not np.array_equal(game(design=audit.Pool(), seed=6).inclusion, pool)


def test_coins_are_as_often_in_as_the_prior_says():
    # 40,000 coins of 0.3: six deviations are 550; a correct game fails with probability 2e-9.
    inside = game(data=200, design=audit.Pool(prior=0.3), models=200).inclusion
    assert abs(int(inside.sum()) - 12_000) < 550


def test_named_targets_leave_all_others_in():
    one = game(design=audit.Targets([0, 4]), population=(2,))
    for model in range(12):
        places = set(one.training_places(model).tolist())
        drawn = {place for place, inside in zip((0, 4), one.coins(model), strict=True) if inside}
        assert places == {1, 3, 5} | drawn


def test_in_a_pool_only_those_are_in_whose_coin_says_so():
    one = game(design=audit.Pool(), population=(1, 3))
    assert one.targets.tolist() == [0, 2, 4, 5]
    for model in range(12):
        assert one.training_places(model).tolist() == one.targets[one.coins(model)].tolist()


def test_another_example_stands_in_a_target_s_own_place():
    one = game(data=7, design=audit.Replaced([1, 4], by=[6, 0]), population=(2,), models=40)
    assert np.array_equal(
        one.inclusion, game(data=7, design=audit.Targets([1, 4]), models=40).inclusion
    )
    seen = set()
    for model in range(40):
        first, second = one.coins(model)
        expected = [1 if first else 6, 3, 4 if second else 0, 5]
        assert one.training_places(model).tolist() == expected
        seen.add((first, second))
    assert len(seen) == 4


def test_a_model_is_named_by_its_number():
    for ask in (game().coins, game().training_places, game().training_seed):
        for wrong, said in ((-1, "at least 0"), (12, "at most 11"), (1.5, "a whole number")):
            with pytest.raises(InvalidArgument, match=f"model must be {said}"):
                ask(wrong)


def test_no_two_models_share_a_seed():
    many = game(models=5_000)
    seeds = {many.training_seed(model) for model in range(5_000)}
    assert len(seeds) == 5_000
    assert max(seeds) < 2**32


# -- what is trained ------------------------------------------------------------------------------


def test_scores_are_those_of_a_plain_loop():
    one = game()
    played = one.play(noisy_sum)
    for model in range(12):
        people = PEOPLE[1:] if not one.coins(model)[0] else PEOPLE
        assert played.raw[model, 0] == noisy_sum(people, one.training_seed(model))[0]
    scores = played.scores(target=0)
    assert scores.independent
    assert sorted(scores.members.values) == sorted(played.raw[played.inclusion])
    assert sorted(scores.non_members.values) == sorted(played.raw[~played.inclusion])


def makes():
    import torch

    x, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    return {
        "array": (x, lambda d: d[:, 0].tolist()),
        "pair": ((x, y), lambda d: (d[0][:, 0] + 0 * d[1]).tolist()),
        "list": ([{"at": 2.0 * k} for k in range(6)], lambda d: [one["at"] for one in d]),
        "frame": (pd.DataFrame({"a": x[:, 0]}, index=list("uvwxyz")), lambda d: d["a"].tolist()),
        "tensor": (torch.tensor(x), lambda d: d[:, 0].tolist()),
        "number": (6, lambda d: (2.0 * d).tolist()),
        "torch": (
            torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y)),
            lambda d: [float(one[0]) for one, _ in d],
        ),
    }


@pytest.mark.parametrize("make", ["array", "pair", "list", "frame", "tensor", "number", "torch"])
def test_every_make_of_data_gives_the_examples_that_are_in(make):
    data, read = makes()[make]
    one = game(data=data, design=audit.Pool(), models=4)
    seen = []

    def train(dataset, seed):
        seen.append(read(dataset))
        return seed

    def score(model, examples):
        return [value + model / 2**32 for value in read(examples)]

    played = one.play(train, score)
    assert seen == [(2.0 * one.training_places(model)).tolist() for model in range(4)]
    assert np.array_equal(np.floor(played.raw), np.tile(2.0 * np.arange(6), (4, 1)))


@pytest.mark.parametrize("make", ["array", "pair", "list", "frame", "tensor", "torch"])
def test_a_fingerprint_is_of_what_the_data_hold(make):
    data, again = (makes()[make][0] for _ in range(2))
    assert data_fingerprint(data) == data_fingerprint(again)
    part = shadow_models.take_examples(data, np.array([0, 1, 2, 4, 3, 5]))
    if make != "torch":  # a Subset counts by its type and length
        assert data_fingerprint(part) != data_fingerprint(data)


def test_other_numbers_have_another_fingerprint():
    changed = PEOPLE.copy()
    changed[3] = 0.5
    assert data_fingerprint(changed) != data_fingerprint(PEOPLE)
    assert data_fingerprint(pd.Series(changed)) != data_fingerprint(pd.Series(PEOPLE))
    sparse = [csr_array(one[:, None]) for one in (PEOPLE, changed)]
    assert data_fingerprint(sparse[0]) != data_fingerprint(sparse[1])
    assert data_fingerprint(["a", "b"]) != data_fingerprint(["ab", ""])
    assert data_fingerprint(range(5)) != data_fingerprint(range(5, 10))
    assert data_fingerprint([date(2020, 1, 1)]) != data_fingerprint([date(2021, 1, 1)])
    assert data_fingerprint([{1}, {2}]) != data_fingerprint([{1}, {3}])
    assert data_fingerprint({"b", "a"}) == data_fingerprint({"a", "b"})


def test_the_population_is_scored_and_never_in():
    one = game(data=np.arange(8.0), design=audit.Targets(1), population=(6, 7))
    played = one.play(lambda data, seed: data, lambda data, asked: np.isin(asked, data) * 1.0)
    assert np.array_equal(played.raw[:, 0], played.inclusion[:, 0] * 1.0)
    assert played.population.shape == (12, 2)
    assert not played.population.any()


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_give_the_same_scores(backend):
    one = game(models=30)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        played = one.play(noisy_sum)
    assert np.array_equal(played.raw, one.play(noisy_sum).raw)
    assert (played.seconds >= 0).all()


def draws_from_what_is_shared(people, seed):
    return [np.random.normal() + random.random()]  # noqa: S311


def test_forked_workers_share_no_noise():
    """They start from one state, and a training may draw from that and not from its seed."""
    one = game(models=30)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        played = one.play(draws_from_what_is_shared)
    assert np.unique(played.raw).size == 30
    assert np.array_equal(played.raw, one.play(draws_from_what_is_shared).raw)


def test_what_is_shared_is_put_back_as_it_was():
    before = random.getstate(), np.random.get_state()[1].tolist()
    drawn = game(models=3).play(draws_from_what_is_shared).raw
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    np.random.normal()
    assert np.array_equal(game(models=3).play(draws_from_what_is_shared).raw, drawn)


def test_what_is_shared_is_not_what_the_seed_gives():
    """Else a training that draws from both would use the same noise twice."""

    def train(people, seed):
        return [np.random.normal() - np.random.RandomState(seed).normal()]

    assert game(models=3).play(train).raw.all()


def test_pytorch_draws_the_same_whatever_was_drawn_before():
    torch = pytest.importorskip("torch")

    def train(people, seed):
        return torch.randn(1)

    state = torch.get_rng_state()
    one = game(models=3).play(train).raw
    assert torch.equal(torch.get_rng_state(), state)
    torch.randn(1)
    assert np.array_equal(game(models=3).play(train).raw, one)


def test_progress_ends_at_one_and_never_falls():
    told = []
    game().play(noisy_sum, progress=told.append)
    assert told == sorted(told)
    assert told[0] == 0.0
    assert told[-1] == 1.0


def test_a_bar_shows_how_many_and_how_long(capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    game().play(noisy_sum, progress=True)
    shown = capsys.readouterr()
    assert "12/12" in shown.err
    assert "s each" in shown.err
    assert shown.out == ""


def test_one_model_is_for_audits_of_one_run():
    one = game(data=400, design=audit.Pool(), models=3)
    played = one.play(lambda data, seed: np.isin(np.arange(400), data) * 1.0)
    scores = played.of_model(1)
    assert scores.members.count == one.coins(1).sum()
    assert audit.one_run(scores).refutes(ta.guarantee(epsilon=2))
    with pytest.raises(Unsupported, match="not independent"):
        audit.many_runs(scores)


def test_unfair_coins_are_no_audit_of_one_run():
    played = game(design=audit.Pool(prior=0.4)).play(
        functools.partial(noisy_sum, targets=PEOPLE.size)
    )
    with pytest.raises(Unsupported, match=r"fair coins.*prior 0\.4"):
        played.of_model(0)


def test_a_model_with_all_targets_on_one_side_is_no_audit_of_one_run():
    played = game(design=audit.Targets([0]), models=2).play(noisy_sum)
    with pytest.raises(InvalidArgument, match=r"model must have targets on both sides.*, got 1"):
        played.of_model(1)


def test_outputs_of_models_trained_elsewhere_are_a_game_too():
    one = game(models=30)
    outputs = one.play(noisy_sum).raw
    there = one.with_outputs(outputs)
    assert np.array_equal(there.inclusion, one.inclusion)
    assert audit.game_evidence(there) == audit.game_evidence(one.play(noisy_sum))
    with pytest.raises(InvalidArgument, match=r"raw must be finite numbers of shape \(30, 1\)"):
        one.with_outputs(outputs[:-1])
    with pytest.raises(InvalidArgument, match="population must be"):
        game(population=(3,)).with_outputs(np.zeros((12, 1)))


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data": []}, "data must not be empty"),
        ({"data": (PEOPLE, PEOPLE[1:])}, "one length"),
        ({"data": object()}, "data must be indexed examples"),
        ({"data": 2.5}, "data must be a whole number"),
        ({"data": "people"}, "data must be indexed examples"),
        ({"data": {"x": PEOPLE, "y": PEOPLE}}, "data must be indexed examples"),
        ({"data": np.array(3.0)}, "data must be indexed examples"),
        ({"population": 3}, "population must be places of examples, listed"),
        ({"design": audit.Replaced(0, by=6)}, "by must be places below 6"),
        ({"design": audit.Replaced(0, by=1), "population": (1,)}, "no targets"),
        ({"design": 3}, "design must be audit.Targets"),
        ({"design": audit.Targets(6)}, "targets must be places below 6"),
        ({"models": 0}, "models must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"population": (0,)}, "no targets"),
        ({"population": (9,)}, "population must be places below 6"),
        ({"design": audit.Pool(), "population": range(6)}, "leave some examples"),
    ],
)
def test_games_that_cannot_be_played(changes, said):
    with pytest.raises(InvalidArgument, match=said):
        game(**changes)


def test_targets_are_named_once_and_priors_are_chances():
    with pytest.raises(InvalidArgument, match="each named once"):
        audit.Targets([1, 1])
    with pytest.raises(InvalidArgument, match="each named once"):
        audit.Targets([])
    with pytest.raises(InvalidArgument, match="targets must be a whole number, got '0'"):
        audit.Targets("0")
    for by in ([1], [0, 1], [2, 2]):
        with pytest.raises(InvalidArgument, match=r"by must (name another|be places)"):
            audit.Replaced([0, 3], by)
    with pytest.raises(InvalidArgument, match="strictly between 0 and 1"):
        audit.Replaced(0, 1, prior=1.0)
    with pytest.raises(InvalidArgument, match="strictly between 0 and 1"):
        audit.Targets(0, prior=1.0)
    with pytest.raises(InvalidArgument, match="strictly between 0 and 1"):
        audit.Pool(prior=0.0)


def at_model(one, model, does):
    """A training that behaves but for one model, known by its seed."""
    bad = one.training_seed(model)

    def train(people, seed):
        return does() if seed == bad else noisy_sum(people, seed)

    return train


def fails():
    raise ZeroDivisionError("no gradient")


@pytest.mark.parametrize(
    ("does", "kind", "said"),
    [
        (lambda: [np.nan], BadScores, "must be finite, got nan for example 0"),
        (lambda: [-np.inf], BadScores, "must be finite, got -inf"),
        (lambda: [1.0, 2.0], BadScores, "must be 1, one for each example asked, got 2"),
        (lambda: [[1.0, 2.0], [3.0]], BadScores, r"must be numbers \(give score=.*got list"),
        (lambda: {"loss": 1}, BadScores, r"must be numbers \(give score=.*got dict"),
        (fails, TrainingStopped, "raised ZeroDivisionError: no gradient"),
    ],
)
def test_a_model_that_fails_is_named_with_its_seed(does, kind, said, tmp_path):
    one = game()
    with pytest.raises(kind, match=said) as caught:
        one.play(at_model(one, 7, does), folder=tmp_path / "kept")
    assert f"model 7 (seed {one.training_seed(7)})" in str(caught.value)
    assert f"7 finished models are kept in {tmp_path / 'kept'}" in str(caught.value)


def test_without_a_folder_a_failure_says_that_nothing_is_kept():
    one = game()
    with pytest.raises(TrainingStopped, match="nothing is kept, as no folder was given"):
        one.play(at_model(one, 3, fails))


def test_a_failure_on_a_worker_says_the_same():
    one = game()
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.raises(TrainingStopped, match=r"model 7 \(seed \d+\) raised ZeroDivisionError"),
    ):
        one.play(at_model(one, 7, fails))


def test_functions_must_be_callable():
    with pytest.raises(InvalidArgument, match="train must be callable"):
        game().play(3)
    with pytest.raises(InvalidArgument, match="score must be callable"):
        game().play(noisy_sum, score=3)
    with pytest.raises(InvalidArgument, match="progress must be callable"):
        game().play(noisy_sum, progress=3)


def test_coins_that_all_fall_one_way_leave_nothing_to_compare():
    played = game(design=audit.Targets(0, prior=1e-9)).play(noisy_sum)
    with pytest.raises(InvalidArgument, match="the target was out of all 12"):
        played.scores()
