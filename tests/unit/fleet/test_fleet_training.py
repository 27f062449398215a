"""The fleet is DP-SGD as a textbook writes it, for every model."""

import fleet_naive as naive
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tellapart import fleet  # noqa: E402
from tellapart.errors import InvalidArgument, Unsupported  # noqa: E402
from tellapart.fleet import _chunks, _random  # noqa: E402
from tellapart.fleet._chunks import row_length, rows_of  # noqa: E402

NETS = [
    fleet.LogisticRegression(inputs=8, classes=3),
    fleet.MLP(inputs=8, hidden=(5,), classes=3),
    fleet.MLP(inputs=8, hidden=(5, 4), classes=3, activation="tanh"),
    fleet.CNN(inputs=(2, 2, 2), channels=(3,), classes=3),
    fleet.CNN(inputs=(1, 4, 2), channels=(2, 3), classes=3, activation="tanh"),
]
ids = [f"{type(one).__name__}-{getattr(one, 'activation', '')}" for one in NETS]


def some_data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 8)), rng.integers(0, 3, n)


def took_part(models, examples, rate, step, seed, purpose=_random.SAMPLING):
    """Who took part in a step, drawn again."""
    key = _random.keys(seed, purpose, models, step + 1, "cpu")[step]
    places = _random.counters(models, examples, "cpu")
    return _random.coins(places, *key, _random.limit_of(rate)).numpy()


def noise(models, architecture, step, seed):
    key = _random.keys(seed, _random.NOISE, models, step + 1, "cpu")[step]
    width = -(-architecture.parameters // 32) * 32
    drawn = _random.normals(_random.counters(models, width, "cpu"), *key).numpy()
    return drawn[:, : architecture.parameters].astype(float)


def flat(model):
    return np.concatenate([np.float64(one).ravel() for one in model.values()])


@pytest.mark.parametrize("architecture", NETS, ids=ids)
@pytest.mark.parametrize("rate", [0.1, 0.7, 1.0])
@pytest.mark.parametrize("clip", [None, 0.6])
def test_one_step_is_the_sum_of_clipped_gradients(architecture, rate, clip):
    X, y = some_data()
    rng = np.random.default_rng(1)
    inclusion = rng.random((3, 40)) < 0.8
    start = {name: rng.normal(size=shape) for name, shape in architecture.shapes.items()}
    told = {"steps": 1, "learning_rate": 1.0, "sampling_rate": rate, "expected_batch": 1.0}
    recipe = fleet.SGD(**told)
    if clip is not None:
        recipe = fleet.DPSGD(**told, clip=clip, noise_multiplier=0.0)
    found = fleet.train(architecture, recipe, X, y, inclusion, seed=7, start=start)
    taking = inclusion.copy()
    if rate < 1:
        taking &= took_part(np.arange(3), 40, rate, 0, (7,))
    singles = [naive.gradient(architecture, start, x, label) for x, label in zip(X, y, strict=True)]
    if clip is not None:
        norms = np.linalg.norm(singles, axis=1)
        assert (norms > clip).any()
    for model in range(3):
        wanted = sum(naive.clipped(singles[i], clip) for i in np.flatnonzero(taking[model]))
        change = flat(start) - found.weights[model]
        np.testing.assert_allclose(change, wanted, atol=2e-5)


@pytest.mark.parametrize("labels", [True, False])
def test_squared_error_too(labels):
    architecture = NETS[2]
    X, y = some_data()
    targets = np.eye(3)[y] if labels else np.random.default_rng(3).normal(size=(40, 3))
    told = {"steps": 1, "learning_rate": 1.0, "sampling_rate": 1.0, "expected_batch": 1.0}
    recipe = fleet.DPSGD(**told, clip=0.5, noise_multiplier=0.0, loss="squared_error")
    rng = np.random.default_rng(2)
    start = {name: rng.normal(size=shape) for name, shape in architecture.shapes.items()}
    given = y if labels else targets
    found = fleet.train(architecture, recipe, X, given, models=1, seed=1, start=start)
    singles = [
        naive.gradient(architecture, start, x, target, squared=True)
        for x, target in zip(X, targets, strict=True)
    ]
    wanted = sum(naive.clipped(one, 0.5) for one in singles)
    np.testing.assert_allclose(flat(start) - found.weights[0], wanted, atol=2e-5)
    loss = found.scores(X, given)[0]
    model = {name: torch.tensor(np.float64(one)) for name, one in found.model(0).items()}
    for place in (0, 39):
        output = naive.forward(architecture, model, torch.tensor(X[place])).numpy()
        assert loss[place] == pytest.approx(((output - targets[place]) ** 2).sum() / 2, rel=1e-4)


@pytest.mark.parametrize("architecture", [NETS[0], NETS[2], NETS[3]])
def test_whole_training_is_the_textbooks(architecture):
    X, y = some_data()
    recipe = fleet.DPSGD(
        steps=8, learning_rate=0.4, expected_batch=6, clip=0.7, noise_multiplier=0.9
    )
    seed, number = (11, 3), 70  # in the second block
    fleet_of_72 = fleet.train(architecture, recipe, X, y, models=72, seed=seed)
    start = fleet.train(
        architecture, fleet.SGD(steps=1, learning_rate=1e-30, sampling_rate=0.1), X, y,
        models=72, seed=seed,
    ).model(number)  # fmt: skip
    weights, one = flat(start), np.array([number])
    for step in range(8):
        total = 0.7 * 0.9 * noise(one, architecture, step, seed)[0]
        model = unflat(architecture, weights)
        for i in np.flatnonzero(took_part(one, 40, 6 / 40, step, seed)[0]):
            total += naive.clipped(naive.gradient(architecture, model, X[i], y[i]), 0.7)
        weights = weights - 0.4 / 6 * total
    np.testing.assert_allclose(fleet_of_72.weights[number], weights, atol=1e-5)


def unflat(architecture, weights):
    found, at = {}, 0
    for name, shape in architecture.shapes.items():
        size = int(np.prod(shape))
        found[name], at = weights[at : at + size].reshape(shape), at + size
    return found


@pytest.mark.parametrize("architecture", NETS[1:4], ids=ids[1:4])
def test_chunks_do_not_change_a_bit(architecture):
    X, y = some_data(60)
    recipe = fleet.DPSGD(
        steps=6, learning_rate=0.5, sampling_rate=0.1, clip=1.0, noise_multiplier=1.0
    )
    inclusion = np.random.default_rng(0).random((80, 60)) < 0.5

    def weights(chunk):
        return fleet.train(architecture, recipe, X, y, inclusion, seed=3, chunk=chunk).weights

    every = weights(80)
    for chunk in (1, 7, 64, None):
        np.testing.assert_array_equal(weights(chunk), every)
    part = fleet.train(architecture, recipe, X, y, inclusion[50:70], seed=3, models=range(50, 70))
    np.testing.assert_array_equal(part.weights, every[50:70])


def test_threads_do_not_change_a_bit():
    X, y = some_data(60)
    recipe = fleet.DPSGD(
        steps=3, learning_rate=0.5, sampling_rate=0.1, clip=1.0, noise_multiplier=1.0
    )
    one = fleet.train(NETS[1], recipe, X, y, models=20, seed=3, chunk=6)
    torch.set_num_threads(2)
    two = fleet.train(NETS[1], recipe, X, y, models=20, seed=3, chunk=6)
    assert torch.get_num_threads() == 2
    np.testing.assert_array_equal(one.weights, two.weights)


def test_samples_that_find_no_room_lose_nobody(monkeypatch):
    X, y = some_data(200)
    recipe = fleet.SGD(steps=4, learning_rate=0.5, sampling_rate=0.1)
    usual = fleet.train(NETS[1], recipe, X, y, models=9, seed=3)
    # No room beyond the mean: almost every model must be trained again, and again.
    monkeypatch.setattr(_chunks, "_DEVIATIONS", 0.05)
    again = fleet.train(NETS[1], recipe, X, y, models=9, seed=3)
    counts = [took_part(np.arange(9), 200, 0.1, step, (3,)).sum(1).max() for step in range(4)]
    assert row_length(200, 0.1) == 24 < max(counts)
    np.testing.assert_allclose(again.weights, usual.weights, atol=1e-6)


def test_rows_hold_whoever_takes_part():
    taking = torch.from_numpy(np.random.default_rng(0).random((50, 30)) < 0.2)
    rows, counted, late = rows_of(taking, 8, torch.arange(30))
    assert late.any()
    assert not late.all()
    for model in range(50):
        wanted = np.flatnonzero(taking[model].numpy())
        assert bool(late[model]) == (wanted.size > 8)
        np.testing.assert_array_equal(rows[model][counted[model]].numpy(), wanted[:8])


def test_noise_has_its_deviation():
    # With nobody in, weights move by noise alone. The variance of n numbers is within 5.5
    # deviations but for a chance of 4e-8.
    architecture = fleet.MLP(inputs=8, hidden=(20,), classes=3)
    X, y = some_data(5)
    recipe = fleet.DPSGD(
        steps=9, learning_rate=0.5, expected_batch=2, clip=0.3, noise_multiplier=1.5
    )
    start = {name: np.zeros(shape) for name, shape in architecture.shapes.items()}
    nobody = np.zeros((500, 5), dtype=bool)
    found = fleet.train(architecture, recipe, X, y, nobody, seed=2, start=start).weights
    ratio = found.astype(float) / (0.5 / 2 * 0.3 * 1.5 * 3)
    assert abs((ratio**2).mean() - 1) < 5.5 * np.sqrt(2 / ratio.size)
    assert abs(ratio.mean()) < 5.5 / np.sqrt(ratio.size)


def test_models_learn_digits():
    X, y = pytest.importorskip("sklearn.datasets").load_digits(return_X_y=True)
    recipe = fleet.SGD(steps=300, learning_rate=0.5, expected_batch=64)
    inclusion = np.zeros((2, len(y)), dtype=bool)
    inclusion[:, :1_200] = True
    trained = fleet.train(
        fleet.MLP(inputs=64, hidden=(32,), classes=10), recipe, X / 16, y, inclusion, seed=0
    )
    assert (trained.accuracy(X[1_200:] / 16, y[1_200:]) > 0.88).all()
    assert (trained.accuracy(X[:1_200] / 16, y[:1_200]) > 0.9).all()


def test_scores_are_those_of_plain_models():
    X, y = some_data()
    for architecture in NETS:
        recipe = fleet.SGD(steps=20, learning_rate=1.0, sampling_rate=0.5)
        trained = fleet.train(architecture, recipe, X, y, models=3, seed=4)
        by_kind = {kind: trained.scores(X, y, kind) for kind in ("loss", "logit", "confidence")}
        model = {name: torch.tensor(np.float64(one)) for name, one in trained.model(1).items()}
        right = 0
        for i in range(40):
            given = naive.forward(architecture, model, torch.tensor(X[i]))
            p = torch.softmax(given, dim=0).numpy()[y[i]]
            right += int(given.argmax()) == y[i]
            found = {kind: by_kind[kind][1, i] for kind in by_kind}
            assert found["confidence"] == pytest.approx(p, rel=1e-4)
            assert found["loss"] == pytest.approx(-np.log(p), rel=1e-4, abs=1e-6)
            assert found["logit"] == pytest.approx(np.log(p / (1 - p)), rel=1e-4, abs=1e-5)
        assert trained.accuracy(X, y)[1] == pytest.approx(right / 40)


def test_bad_input_is_named():
    X, y = some_data()
    recipe = fleet.SGD(steps=1, learning_rate=1.0, sampling_rate=0.5)

    def refused(match, *args, error=InvalidArgument, **kwargs):
        with pytest.raises(error, match=match):
            fleet.train(*args, **({"seed": 0} | kwargs))

    refused("X must have rows of 8", NETS[0], recipe, X[:, :5], y, models=1)
    refused("X must not contain NaN", NETS[0], recipe, X * np.nan, y, models=1)
    refused("X must lie within ±1e9", NETS[0], recipe, X * 1e20, y, models=1)
    refused("X must lie within ±1e9", NETS[0], recipe, X * 1e60, y, models=1)
    squared = fleet.SGD(steps=1, learning_rate=1.0, sampling_rate=0.5, loss="squared_error")
    refused("y must lie within ±1e9", NETS[0], squared, X, np.full((40, 3), 1e40), models=1)
    refused("y must lie in 0 to 2", NETS[0], recipe, X, y + 1, models=1)
    refused("y must be 40 whole", NETS[0], recipe, X, y[:5], models=1)
    refused("models must be given", NETS[0], recipe, X, y)
    refused("inclusion must be True or False", NETS[0], recipe, X, y, np.ones((2, 40)))
    refused("inclusion must have a row", NETS[0], recipe, X, y, np.ones((2, 40), bool), models=3)
    refused("architecture must be", "MLP", recipe, X, y, models=1)
    refused("chunk must be at least 1", NETS[0], recipe, X, y, models=1, chunk=0)
    refused("start must have", NETS[0], recipe, X, y, models=1, start={})
    refused("start must be weights by name", NETS[0], recipe, X, y, models=1, start=3)
    refused("canaries must be fleet.Canaries", NETS[0], recipe, X, y, models=1, canaries=3)
    refused("progress must be callable", NETS[0], recipe, X, y, models=1, progress=3)
    refused("X must be finite", NETS[0], recipe, X * np.inf, y, models=1)
    refused("X must lie within", NETS[0], recipe, X * 1e39, y, models=1)
    refused("device must be one", NETS[0], recipe, X, y, models=1, device="tpu9000")
    rare = fleet.SGD(steps=1, learning_rate=1.0, sampling_rate=1e-10)
    refused("sampling_rate must be at least", NETS[0], rare, X, y, models=1)
    big = fleet.SGD(steps=1, learning_rate=1.0, expected_batch=41)
    refused("expected_batch must be at most the 40", NETS[0], big, X, y, models=1)
    with pytest.raises(InvalidArgument, match="sampling_rate or expected_batch must be given"):
        fleet.SGD(steps=1, learning_rate=1.0)
    for clip in (1e-22, 1e22):  # their squares are no numbers of 32 bits
        with pytest.raises(InvalidArgument, match="clip must lie in"):
            fleet.DPSGD(steps=1, learning_rate=1, sampling_rate=1, clip=clip, noise_multiplier=1)
    with pytest.raises(InvalidArgument, match="activation must be"):
        fleet.MLP(inputs=2, classes=2, activation="gelu")


def test_progress_is_told():
    X, y = some_data()
    recipe, told = fleet.SGD(steps=1, learning_rate=1.0, sampling_rate=0.5), []
    fleet.train(NETS[0], recipe, X, y, models=8, seed=0, chunk=2, progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_models_that_went_wrong_are_named():
    X, y = some_data()
    recipe = fleet.SGD(steps=30, learning_rate=1e9, sampling_rate=0.5, loss="squared_error")
    trained = fleet.train(NETS[0], recipe, X, y, models=2, seed=0)
    assert trained.failed.tolist() == [0, 1]
    for ask in (trained.scores, trained.accuracy):
        with pytest.raises(Unsupported, match="2 of 2 models have no finite weights, first 0, 1 "):
            ask(X, y)


def test_sums_are_divided_by_the_expected_batch_also_where_it_is_less_than_one():
    X, y = some_data()
    start = {name: np.zeros(shape) for name, shape in NETS[0].shapes.items()}
    moved = {}
    for batch in (0.25, 1.0):
        recipe = fleet.SGD(steps=1, learning_rate=1.0, sampling_rate=0.5, expected_batch=batch)
        moved[batch] = fleet.train(NETS[0], recipe, X, y, models=2, seed=0, start=start).weights
    assert moved[0.25] == pytest.approx(4 * moved[1.0], rel=1e-5)
    assert np.abs(moved[1.0]).max() > 0
