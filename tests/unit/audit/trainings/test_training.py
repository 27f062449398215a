"""Audits of training functions, with and without a leak, from scikit-learn to PyTorch."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.trainings import attacks, training_audit
from tellapart.audit.trainings.membership_game import Played
from tellapart.errors import BadScores, InvalidArgument, Unsupported

CLAIM = ta.guarantee(epsilon=1)


def never(data, seed):
    raise AssertionError("nothing is trained")


def noisy_sum(scale):
    """Output perturbation: exactly Laplace, ε = 1 / scale for a person of value 1."""

    def train(people, seed):
        return [people.sum() + np.random.default_rng(seed).laplace(0, scale)]

    return train


def small_data(seed=0, count=40):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 3))
    labels = (features[:, 0] + rng.normal(0, 0.5, count) > 0).astype(int)
    features[0], labels[0] = (4.0, 0.0, 0.0), 0  # a mislabelled one, far out
    return features, labels


# -- the exact truth ----------------------------------------------------------------------------


def test_laplace_noise_is_judged_by_its_exact_epsilon():
    people = np.array([1.0, 0.0, 1.0])
    refuted = audit.training(noisy_sum(0.5), people, claim=CLAIM, models=1_000)
    assert refuted.refuted
    assert 1.4 < refuted.epsilon_lower().value <= 2
    # The claim is true: refuted with probability 0.05 at most, and the seed is fixed.
    assert not audit.training(noisy_sum(1.0), people, claim=CLAIM, models=500).refuted


def test_the_verdict_is_that_of_many_runs_on_the_game():
    people = np.array([1.0, 0.0])
    verdict = audit.training(noisy_sum(0.5), people, claim=CLAIM, models=400, seed=3)
    game = audit.MembershipGame(people, audit.Targets(0), models=400, seed=3)
    same = audit.many_runs(game.play(noisy_sum(0.5)).scores())
    assert verdict.evidence == same
    assert verdict.epsilon_lower() == same.epsilon_lower()


def test_it_says_what_more_models_would_show():
    verdict = audit.training(noisy_sum(0.5), np.ones(2), claim=CLAIM, models=400)
    more = verdict.evidence.scaled(4).epsilon_lower(0).value
    assert more > verdict.epsilon_lower().value
    line = next(one for one in verdict.reasons() if one.startswith("More models would show"))
    assert f"4 times as many (1,600) about {more:.3g}" in line
    assert line in str(verdict)
    assert "a further test" in line


def test_a_prior_that_is_not_a_half_is_sound_too():
    rare = audit.Targets(0, prior=0.2)
    verdict = audit.training(noisy_sum(0.5), np.ones(2), claim=CLAIM, targets=rare, models=800)
    assert verdict.refuted
    assert verdict.epsilon_lower().value <= 2


def test_a_replaced_record_is_judged_by_its_own_neighbours():
    """The sum moves by 2 where 1 becomes -1: ε = 2 / scale, and 1 / scale is refuted."""
    people, swap = np.array([1.0, 0.0, -1.0]), audit.Replaced(0, by=2)
    claims = {
        scale: ta.Laplace(scale, sensitivity=2.0, neighbours=ta.Neighbours.REPLACE)
        for scale in (1.0, 3.0)
    }
    true = audit.training(noisy_sum(1.0), people, claim=claims[1.0], targets=swap, models=600)
    assert not true.refuted
    assert 1 < true.epsilon_lower(0.0).value <= 2
    assert audit.training(
        noisy_sum(1.0), people, claim=claims[3.0], targets=swap, models=600
    ).refuted


def test_claims_about_other_neighbours_are_not_judged():
    fixed = ta.dp_sgd(1.0, 0.5, 2, scheme=ta.Sampling.WITHOUT_REPLACEMENT)
    with pytest.raises(Unsupported, match=r"use targets=audit\.Replaced\(at, by\)"):
        audit.training(never, np.ones(4), claim=fixed)
    with pytest.raises(Unsupported, match=r"use audit\.Targets\(at\)"):
        audit.training(never, np.ones(4), claim=ta.Laplace(1.0), targets=audit.Replaced(0, by=1))


# -- trainings ----------------------------------------------------------------------------------


def test_logistic_regression_without_noise_is_refuted():
    from sklearn.linear_model import LogisticRegression

    def train(data, seed):
        return LogisticRegression(random_state=seed).fit(*data)

    verdict = audit.training(
        train, small_data(), claim=CLAIM, models=60, score=attacks.label_confidences
    )
    assert verdict.refuted
    assert "do not use the seed" in str(verdict)


def test_a_tree_on_samples_of_the_data_is_refuted():
    from sklearn.tree import DecisionTreeClassifier

    def train(data, seed):
        features, labels = data
        rng = np.random.default_rng(seed)
        rows = rng.random(len(labels)) < 0.9
        return DecisionTreeClassifier(random_state=seed).fit(features[rows], labels[rows])

    verdict = audit.training(
        train, small_data(), claim=CLAIM, models=150, score=attacks.label_confidences
    )
    assert verdict.refuted
    assert "do not use the seed" not in str(verdict)


def test_a_training_that_ignores_the_target_is_not_refuted():
    def train(data, seed):
        return [np.random.default_rng(seed).normal()]

    verdict = audit.training(train, 5, claim=ta.guarantee(epsilon=0.1), models=300)
    assert not verdict.refuted


def test_pytorch_trains_and_its_losses_are_scores():
    torch = pytest.importorskip("torch")
    features, labels = small_data()
    data = torch.utils.data.TensorDataset(
        torch.tensor(features, dtype=torch.float32), torch.tensor(labels)
    )

    def train(dataset, seed):
        generator = torch.Generator().manual_seed(seed)
        x, y = (torch.stack(part) for part in zip(*dataset, strict=True))
        weights = (0.1 * torch.randn(3, 2, generator=generator)).requires_grad_()
        for _ in range(15):
            loss = torch.nn.functional.cross_entropy(x @ weights, y)
            (slope,) = torch.autograd.grad(loss, weights)
            weights = (weights - slope).detach().requires_grad_()
        return weights

    def losses(weights, examples):
        x, y = (torch.stack(part) for part in zip(*examples, strict=True))
        return torch.nn.functional.cross_entropy(x @ weights, y, reduction="none")

    verdict = audit.training(
        train, data, claim=CLAIM, models=60, score=losses, attack=attacks.loss_threshold
    )
    assert verdict.refuted


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Opacus warns of what it always does
def test_opacus_trains_too():
    torch = pytest.importorskip("torch")
    opacus = pytest.importorskip("opacus")
    features, labels = small_data()
    data = torch.utils.data.TensorDataset(
        torch.tensor(features, dtype=torch.float32), torch.tensor(labels)
    )

    def train(dataset, seed):
        torch.manual_seed(seed)
        model = torch.nn.Linear(3, 2)
        private, optimizer, loader = opacus.PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
            data_loader=torch.utils.data.DataLoader(dataset, batch_size=10),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(private(x), y).backward()
            optimizer.step()
        return private

    def losses(model, examples):
        x, y = (torch.stack(part) for part in zip(*examples, strict=True))
        return -torch.nn.functional.cross_entropy(model(x), y, reduction="none")

    claim = ta.dp_sgd(noise_multiplier=1.0, sampling_rate=0.25, steps=4)
    verdict = audit.training(train, data, claim=claim, models=200, score=losses)
    assert not verdict.refuted
    assert verdict.epsilon_lower(1e-5).value <= claim.curve().epsilon(1e-5)


# -- several targets ----------------------------------------------------------------------------

LEAK = 6


def leaks_one(data, seed):
    """Ten targets, of which one raises its own score."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, 10) + 4.0 * np.isin(np.arange(10), data[data == LEAK])


def played(models=400, design=None):
    return audit.MembershipGame(10, design or audit.Pool(), models=models, seed=1).play(leaks_one)


def test_the_target_that_leaks_is_found_on_models_that_are_not_counted():
    found = audit.game_evidence(played())
    assert "About example 6, one of 10 targets: chosen on the first 120 models" in found.about
    assert found.refutes(CLAIM)
    assert all(look.reference + look.tested == 280 for look in found.looks)
    assert any("120 held-out models" in one for one in found.ledger.free)
    assert found.ledger.level == pytest.approx(0.05)


def test_models_set_aside_do_not_reach_the_certificate():
    whole = played()
    found = audit.game_evidence(whole)
    raw = whole.raw.copy()
    raw[:120, LEAK] += np.linspace(0, 1e-3, 120)  # the choice stays, the scores differ
    other = audit.game_evidence(
        Played(whole.game, whole.inclusion, raw, whole.population, whole.seconds)
    )
    assert other.looks == found.looks


def test_each_target_may_be_certified_for_its_share():
    found = audit.game_evidence(played(), each_target=True)
    assert len(found.parts) == 10
    assert all(one.ledger.level == pytest.approx(0.005) for one in found.parts.values())
    assert found.finding(CLAIM).where.startswith("example 6: ")
    assert [name for name, one in found.parts.items() if one.refutes(CLAIM)] == ["example 6"]


def test_exposure_ranks_the_targets_and_all_bounds_hold_at_once():
    first, *rest = audit.exposure(played())
    assert first.example == LEAK
    assert first.epsilon.confidence == pytest.approx(0.95)
    assert first.epsilon.value > 1 > max(one.epsilon.value for one in rest)
    assert first.evidence.confidence == pytest.approx(0.995)
    # Exactly: normal scores four apart; no bound of the curve may lie above theirs.
    truth = ta.guarantee(mu=4.0)
    fpr = np.array([1e-3, 0.01, 0.1])
    assert (first.evidence.curve().tpr(fpr) <= truth.tpr(fpr)).all()


def in_confidence(scores):
    return 1 / (1 + np.exp(-scores))


def test_lira_is_fitted_on_one_half_and_certified_on_the_other():
    whole = played(models=300)
    game = Played(
        whole.game, whole.inclusion, in_confidence(whole.raw), whole.population, whole.seconds
    )
    attack = attacks.Lira()
    found = audit.game_evidence(game, attack=attack)
    assert "About example 6, one of 10 targets: chosen on the first 150 models" in found.about
    assert found.refutes(CLAIM)
    fitted = attack.fit(game.raw[:150], game.inclusion[:150], game.population[:150])
    scores = fitted(game.raw[150:], game.population[150:])[:, LEAK]
    inside = game.inclusion[150:, LEAK]
    plain = audit.many_runs(audit.Scores.from_rows(scores, inside))
    shared = [look for look in found.looks if look.level == min(one.level for one in found.looks)]
    assert [(one.rank, one.beyond) for one in shared] == [
        (one.rank, one.beyond) for one in plain.looks
    ]


def test_rmia_reads_the_population():
    game = audit.MembershipGame(
        60, audit.Targets([LEAK]), models=300, seed=2, population=tuple(range(20, 60))
    )

    def train(data, seed):
        rng = np.random.default_rng(seed)
        return in_confidence(rng.normal([3.0 * (LEAK in data)] + 40 * [0.0], 0.5))

    assert audit.game_evidence(game.play(train), attack=attacks.Rmia()).refutes(CLAIM)


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "level"), [(0.5, 0.05), (2.0, 0.05), (2.0, 0.001), (4.0, 0.05)]
)
def test_the_fewest_models_are_the_fewest(epsilon, level):
    def refuted(models):
        half = models // 2
        scores = audit.Scores(np.arange(half) + 10.0**6, np.arange(models - half))
        return audit.many_runs(scores, 1 - level).refutes(ta.guarantee(epsilon=epsilon))

    found = audit.fewest_models(ta.guarantee(epsilon=epsilon), confidence=1 - level)
    assert refuted(found)
    assert not refuted(found - 1)
    assert found > math.exp(epsilon)


def test_too_few_models_for_the_claim_are_refused_before_any_is_trained():
    trained = []
    needed = audit.fewest_models(ta.guarantee(epsilon=4))
    with pytest.raises(InvalidArgument, match=f"models must be about {needed} or more") as caught:
        audit.training(
            lambda data, seed: trained.append(seed),
            np.ones(3),
            claim=ta.guarantee(epsilon=4),
            models=100,
        )
    assert trained == []
    assert str(caught.value).endswith("got 100")


@pytest.mark.parametrize("models", [1, 2, 3])
def test_hardly_any_models_are_too_few(models):
    with pytest.raises(InvalidArgument, match="models must be about"):
        audit.training(leaks_one, 10, claim=CLAIM, targets=audit.Pool(), models=models)


def test_a_claim_that_no_number_of_models_reaches():
    with pytest.raises(Unsupported, match="more than 2,000,000 models"):
        audit.fewest_models(ta.guarantee(epsilon=40))


def test_attacks_must_not_read_other_models():
    """Shadow models that count make scores depend on each other."""
    one = played(models=40)

    def among_others(raw):
        return raw - raw.mean(axis=0)

    class Cheat:
        def fit(self, raw, inclusion, population):
            return lambda raw, population: raw + raw.std(axis=0)

    for attack in (among_others, Cheat()):
        with pytest.raises(BadScores, match="by its own outputs"):
            audit.game_evidence(one, attack=attack)
    audit.game_evidence(one, attack=lambda raw: raw - raw.mean(axis=1, keepdims=True))


def test_attacks_must_be_attacks():
    with pytest.raises(InvalidArgument, match="attack must be a function"):
        audit.game_evidence(played(models=20), attack=3)
    with pytest.raises(BadScores, match="one finite score for each model and target"):
        audit.game_evidence(played(models=20), attack=lambda raw: raw[:, :1])
    with pytest.raises(InvalidArgument, match="played must be a game that was played"):
        audit.game_evidence([1.0, 2.0])


@pytest.mark.parametrize(
    ("attack", "kind", "said"),
    [
        ("lira", InvalidArgument, "attack must be a function of outputs, or an object"),
        (attacks.Lira, InvalidArgument, r"as attacks\.Lira\(\) is, got <class"),
        (attacks.Rmia(), Unsupported, "give the game a population"),
        (attacks.Lira(), Unsupported, "on each side of every target, and target 0 has 0 of the 3 "),
    ],
    ids=["text", "class", "no population", "few models"],
)
def test_what_is_no_attack_is_told_before_anything_is_trained(attack, kind, said):
    with pytest.raises(kind, match=said):
        audit.training(never, np.ones(4), claim=CLAIM, attack=attack, models=6)
    played = audit.MembershipGame(np.ones(4), models=6).with_outputs(np.zeros((6, 1)))
    with pytest.raises(kind, match=said):
        audit.exposure(played, attack=attack)
    with pytest.raises(kind, match=said):
        audit.game_evidence(played, attack=attack)


class Noting:
    """An attack that notes which models it learns from, and which it scores with that."""

    def __init__(self):
        self.seen = []

    def fit(self, raw, inclusion, population):
        learnt = set(raw[:, 0].tolist())

        def scores(asked, others):
            self.seen.append((learnt, set(asked[:, 0].tolist())))
            return asked

        return scores


def test_no_model_is_scored_by_what_it_taught():
    numbered = np.arange(40.0)[:, None] + np.zeros(3)
    played = audit.MembershipGame(3, audit.Pool(), models=40).with_outputs(numbered)
    attack = Noting()
    audit.game_evidence(played, attack=attack)
    first, one, two = (set(map(float, part)) for part in (range(20), range(10), range(10, 20)))
    rest = set(map(float, range(20, 40)))
    together = [(taught, scored) for taught, scored in attack.seen if len(scored) > 1]
    assert sorted(together, key=str) == sorted([(first, rest), (one, two), (two, one)], key=str)
    # Some are asked again alone, to see that a score does not depend on the other models.
    assert all(not taught & scored for taught, scored in attack.seen)


def test_where_no_bound_tells_targets_apart_the_widest_gap_does():
    game = audit.MembershipGame(4, audit.Pool(), models=40, seed=2)
    raw = np.random.default_rng(0).normal(size=(40, 4))
    raw[:, 2] = game.inclusion[:, 2]
    assert audit.game_evidence(game.with_outputs(raw), 0.9999).about.startswith("About example 2,")


def test_the_target_is_chosen_where_epsilon_is_asked_for():
    """Some members of one target are plain to see; of the other more are, less surely."""
    game = audit.MembershipGame(2, audit.Pool(), models=1_000, seed=4)
    drawn = np.random.default_rng(1).random((1_000, 2))
    shares = np.where(game.inclusion, (0.4, 0.8), (0.0, 0.1))
    played = game.with_outputs((drawn < shares) * 1.0)
    for delta, example in ((0.0, 0), (0.35, 1)):
        assert f"About example {example}," in audit.game_evidence(played, delta=delta).about


def test_thresholds_lie_between_scores_that_differ():
    """Naively: every score that occurs is a threshold; scores that tie are accused together."""
    rng = np.random.default_rng(8)
    scores, inside = rng.integers(0, 4, (30, 6)) * 1.0, rng.random((30, 6)) < 0.4
    naive = [
        max(
            0.0,
            *((one[who] >= cut).mean() - (one[~who] >= cut).mean() for cut in np.unique(one)),
        )
        for one, who in zip(scores.T, inside.T, strict=True)
    ]
    assert training_audit._apart(scores, inside) == pytest.approx(naive)
