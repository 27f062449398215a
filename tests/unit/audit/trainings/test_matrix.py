"""Matrices of models by records: what each reading is, and what is refused."""

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit import Coins, Matrix, Outputs, attacks
from tellapart.audit.evidence.base import promised
from tellapart.audit.trainings.membership_game import Played
from tellapart.errors import InvalidArgument, Unsupported

CLAIM = ta.guarantee(epsilon=1, delta=1e-5)


def drawn(coins, models=24, records=80, leak=2.0, seed=0):
    """Logits that are higher for members, records and models each with a level of its own."""
    rng = np.random.default_rng(seed)
    numbers = rng.random((models, records))
    mask = {
        Coins.INDEPENDENT: numbers < 0.5,
        Coins.FIXED_SIZE: numbers.argsort(axis=1).argsort(axis=1) < records // 2,
        Coins.BALANCED: numbers.argsort(axis=0).argsort(axis=0) < models // 2,
        Coins.ONE_RECORD: (np.arange(records) != 3) | (numbers[:, :1] < 0.5),
    }[coins]
    noise = rng.normal(size=mask.shape) + rng.normal(size=records) + rng.normal(size=(models, 1))
    return noise + leak * mask, mask


def matrix(coins, **options):
    logits, mask = drawn(coins, **options)
    return Matrix(logits, mask, coins, Outputs.LOGIT)


def canaries(evidence):
    return evidence.tries[0].guesses.canaries


def test_pooled_scores_are_one_run_of_all_cells():
    whole = matrix(Coins.INDEPENDENT)
    together = audit.one_run(
        audit.Scores.from_rows(whole.scores.ravel(), whole.inclusion.ravel()), claim=CLAIM
    )
    pooled = whole.pooled(claim=CLAIM)
    assert pooled.tries == together.tries
    assert pooled.neighbours is ta.Neighbours.ADD_REMOVE


def test_one_row_is_an_audit_of_one_run_with_all_others_as_shadow_models():
    whole = matrix(Coins.INDEPENDENT)
    by_hand = attacks.Lira(scaled=True).fit(
        whole.scores[1:], whole.inclusion[1:], np.empty((23, 0))
    )
    scores = by_hand(whole.scores[:1], np.empty((1, 0)))[0]
    expected = audit.one_run(audit.Scores.from_rows(scores, whole.inclusion[0]), claim=CLAIM)
    assert whole.one_run(0, attack=attacks.Lira(), claim=CLAIM).tries == expected.tries
    described = attacks.lira(whole.scores, whole.inclusion, scaled=True).of_model(5)
    assert (
        whole.one_run(5, attack=attacks.Lira(), claim=CLAIM).tries
        == audit.one_run(described, claim=CLAIM).tries
    )


def test_by_record_is_the_game_that_was_played():
    whole = matrix(Coins.INDEPENDENT, models=60)
    game = audit.MembershipGame(80, audit.Pool(), models=60)
    played = game.with_outputs(whole.scores, inclusion=whole.inclusion)
    assert whole.by_record().looks == audit.game_evidence(played).looks
    lira = attacks.Lira(online=False, scaled=True)
    assert whole.by_record(attack=lira).looks == audit.game_evidence(played, attack=lira).looks


def test_a_foreign_mask_is_held_against_the_design():
    game = audit.MembershipGame(80, audit.Pool(), models=24)
    logits, mask = drawn(Coins.BALANCED)
    with pytest.raises(InvalidArgument, match="80 of 80 records have the same total, 12"):
        game.with_outputs(logits, inclusion=mask)
    with pytest.raises(InvalidArgument, match="one row a model, one column a target: \\(24, 80\\)"):
        game.with_outputs(logits, inclusion=mask[:, 1:])
    other = game.with_outputs(logits, inclusion=drawn(Coins.INDEPENDENT)[1])
    assert isinstance(other, Played)
    assert not np.array_equal(other.inclusion, game.inclusion)


@pytest.mark.parametrize(
    "attack",
    [None, attacks.Lira(fixed_variance=True), attacks.Lira(online=False), attacks.Rmia(),
     attacks.Rmia(online=False), lambda raw: raw - raw.mean(axis=1, keepdims=True)],
)  # fmt: skip
@pytest.mark.parametrize("coins", [Coins.INDEPENDENT, Coins.FIXED_SIZE, Coins.BALANCED])
def test_a_plain_leak_is_found_by_every_attack(coins, attack):
    whole = matrix(coins, records=300, leak=4.0)
    assert whole.one_run(2, attack=attack, claim=CLAIM).refutes(CLAIM)
    if coins is not Coins.BALANCED:
        assert whole.pooled(attack=attack, claim=CLAIM).refutes(CLAIM)


def test_confidences_losses_and_logits_say_the_same():
    logits, mask = drawn(Coins.FIXED_SIZE)
    p = 1 / (1 + np.exp(-logits))
    kinds = {Outputs.LOGIT: logits, Outputs.CONFIDENCE: p, Outputs.LOSS: -np.log(p)}
    for attack in (attacks.Lira(), attacks.Rmia()):
        shown = [
            Matrix(numbers, mask, Coins.FIXED_SIZE, kind).pooled(attack=attack).mu_lower().value
            for kind, numbers in kinds.items()
        ]
        assert shown == pytest.approx([shown[0]] * 3, rel=1e-6)
        assert shown[0] > 0
    scores = Matrix(-logits, mask, Coins.FIXED_SIZE, orientation=audit.Orientation.LOWER)
    plain = Matrix(logits, mask, Coins.FIXED_SIZE)
    assert scores.pooled().tries == plain.pooled().tries


def test_augmentations_are_averaged():
    logits, mask = drawn(Coins.INDEPENDENT)
    several = np.stack([logits + 1, logits - 1, logits], axis=2)
    one, many = (Matrix(x, mask, Coins.INDEPENDENT, Outputs.LOGIT) for x in (logits, several))
    assert "3 augmentations" in repr(many)
    lira = attacks.Lira()
    assert (
        many.one_run(attack=lira).mu_lower().value
        == pytest.approx(one.one_run(attack=lira).mu_lower().value, rel=1e-9)
    )  # fmt: skip


def test_float32_is_not_copied_and_a_population_is_read():
    logits, mask = drawn(Coins.INDEPENDENT)
    numbers = logits.astype(np.float32)
    others = np.random.default_rng(1).normal(size=(24, 10)).astype(np.float32)
    whole = Matrix(numbers, mask, Coins.INDEPENDENT, Outputs.LOGIT, population=others)
    assert whole.scores is numbers
    own = Matrix(numbers, mask, Coins.INDEPENDENT, Outputs.LOGIT)
    found = [each.one_run(attack=attacks.Rmia()) for each in (whole, own)]
    assert found[0].tries != found[1].tries
    assert whole.select(models=range(10)).population.shape == (10, 10)


def test_fixed_sizes_are_read_in_pairs_and_speak_of_replacing():
    whole = matrix(Coins.FIXED_SIZE)
    evidence = whole.one_run(claim=CLAIM)
    assert canaries(evidence) == 40
    assert canaries(whole.pooled()) == 24 * 40
    assert canaries(whole.pooled(attack=attacks.Lira())) == 12 * 40
    assert "replace one record" in evidence.about
    replaced = ta.Gaussian(sigma=1, neighbours=ta.Neighbours.REPLACE)
    assert audit.judge(replaced, evidence).refuted in (True, False)
    with pytest.raises(InvalidArgument, match="these data compare those that replace one record"):
        audit.judge(ta.Gaussian(sigma=1), evidence)
    with pytest.raises(InvalidArgument, match="that add or remove one record"):
        audit.judge(replaced, matrix(Coins.INDEPENDENT).pooled())
    with pytest.raises(InvalidArgument, match=r"neighbours=Neighbours\.ADD_REMOVE"):
        audit.judge(replaced, matrix(Coins.INDEPENDENT, models=60).by_record())


def test_no_true_claim_about_adding_is_refuted_by_replacing():
    """Coins told by Laplace noise: ε = 1 of one record, and 2 of one replaced by another."""
    rng = np.random.default_rng(5)
    mask = rng.random((40, 400)).argsort(axis=1).argsort(axis=1) < 200
    whole = Matrix(mask + rng.laplace(size=mask.shape), mask, Coins.FIXED_SIZE)
    replaced, added = ta.Neighbours.REPLACE, ta.Neighbours.ADD_REMOVE
    unstated = ta.guarantee(epsilon=1)
    evidence = whole.pooled(claim=unstated)
    assert evidence.refutes(unstated.stated(replaced))  # which is no true claim
    assert not evidence.refutes(unstated)
    assert evidence.finding(unstated) is None
    assert not evidence.refutes(ta.guarantee(mu=1))
    verdict = audit.judge(unstated, evidence)
    assert not verdict.refuted
    assert "δ = 0, read for two records under replace-one neighbours, at" in verdict.headline
    assert "what it allows for two records, ε = 2, δ = 0" in " ".join(verdict.reasons())
    assert "under replace-one neighbours" in str(evidence.epsilon_lower())
    for other in (ta.guarantee(epsilon=1, neighbours=added), ta.Laplace(1), ta.Laplace(1).curve()):
        for ask in (evidence.refutes, evidence.finding, lambda claim: whole.pooled(claim=claim)):
            with pytest.raises(InvalidArgument, match="claim must be about the neighbours that"):
                ask(other)
    assert not evidence.refutes(ta.Laplace(1).for_group(2).curve().stated(replaced))
    joint = audit.together({"first": evidence, "second": whole.one_run()})
    assert joint.refutes(unstated.stated(replaced))
    assert not joint.refutes(unstated)
    adding = Matrix(whole.scores, rng.random(mask.shape) < 0.5, Coins.INDEPENDENT)
    with pytest.raises(InvalidArgument, match="parts must compare the same neighbours"):
        audit.together({"replaced": evidence, "added": adding.pooled()})


@pytest.mark.parametrize(
    "claim",
    [
        ta.guarantee(epsilon=0.5, delta=0.01),
        ta.guarantee(mu=0.7),
        ta.from_pmfs([0.9, 0.1], [0.7, 0.3]),
    ],
)
def test_a_claim_without_neighbours_is_read_for_two_records(claim):
    """No lower than two steps along a chain, TPR ≤ g(g(FPR)), nor higher than they allow."""
    read = promised(claim, ta.Neighbours.REPLACE)
    fpr = np.linspace(0, 1, 41)
    both = claim.symmetrised()
    twice = both.tpr(np.minimum(both.tpr(fpr), 1.0))
    assert (read.tpr(fpr) >= twice - 1e-12).all()
    assert (read.tpr(fpr) <= twice + 0.2).all()
    assert promised(claim, ta.Neighbours.ADD_REMOVE) is claim
    huge = promised(ta.guarantee(epsilon=800, delta=1e-5), ta.Neighbours.REPLACE)
    assert huge.claimed_delta == 1


def test_balanced_rows_are_read_one_at_a_time():
    whole = matrix(Coins.BALANCED)
    assert canaries(whole.one_run()) == 80  # half of the models have each record: fair as it is
    fitted = whole.one_run(attack=attacks.Lira(fixed_variance=True))
    assert 40 < canaries(fitted) < 80
    assert "fitted on 11 other models" in fitted.about
    for reading in (whole.pooled, whole.by_record):
        with pytest.raises(Unsupported, match=r"use matrix\.one_run"):
            reading()


def test_one_record_is_read_as_many_runs():
    whole = matrix(Coins.ONE_RECORD, models=100, leak=4.0)
    evidence = whole.by_record()
    assert evidence.refutes(CLAIM)
    assert evidence.looks[0].tested + evidence.looks[0].reference == 100
    # RMIA compares the record with all others, which have no coin.
    assert whole.by_record(attack=attacks.Rmia()).refutes(ta.guarantee(epsilon=0.5))
    for reading in (whole.pooled, whole.one_run):
        with pytest.raises(Unsupported, match="use by_record"):
            reading()


def test_models_in_pairs_are_judged_once():
    logits, mask = drawn(Coins.FIXED_SIZE, models=20)
    paired = np.repeat(mask, 2, axis=0) ^ (np.arange(40) % 2 == 1)[:, None]
    twice = np.repeat(logits, 2, axis=0)
    whole = Matrix(twice, paired, Coins.FIXED_SIZE, Outputs.LOGIT)
    assert canaries(whole.pooled()) == 20 * 40
    evidence = whole.one_run(5, attack=attacks.Lira())
    assert "fitted on 38 other models" in evidence.about
    assert "20 models have the coins of another one, or the opposite ones" in evidence.about
    with pytest.raises(InvalidArgument, match="also have one total for every model"):
        Matrix(twice, paired, Coins.BALANCED)


def test_records_without_models_enough_are_left_out_and_said():
    logits, mask = drawn(Coins.INDEPENDENT, models=6, records=400)
    evidence = Matrix(logits, mask, Coins.INDEPENDENT).pooled(attack=attacks.Lira(online=False))
    first = mask[:3]
    fitted = int(((~first).sum(axis=0) >= 2).sum())
    assert canaries(evidence) == 3 * fitted < 1200
    assert f"{400 - fitted} records were in or out of too few models" in evidence.about


def test_a_rare_coin_is_made_fair():
    rng = np.random.default_rng(2)
    mask = rng.random((30, 100)) < 0.2
    whole = Matrix(rng.normal(size=mask.shape) + 4 * mask, mask, Coins.INDEPENDENT, prior=0.2)
    assert 0.35 < canaries(whole.pooled()) / mask.size < 0.45
    assert whole.pooled(claim=CLAIM).refutes(CLAIM)


def test_an_odd_mask_is_remarked_on():
    logits, mask = drawn(Coins.INDEPENDENT, models=24)
    mask[:, 0] = True
    evidence = Matrix(logits, mask, Coins.INDEPENDENT).pooled()
    assert "The mask is unlikely under the stated coins (p ≤ " in evidence.about
    assert "record 0 is in 24 of 24 models" in str(audit.judge(CLAIM, evidence))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": np.zeros((3, 3))}, "as inclusion has: \\(24, 80\\)"),
        ({"scores": np.full((24, 80), np.nan)}, "be finite numbers, got 'nan at \\[0, 0\\]'"),
        ({"scores": np.full((24, 80), "a")}, "be an array of numbers"),
        ({"outputs": Outputs.CONFIDENCE}, "be probabilities with outputs=Outputs.CONFIDENCE"),
        ({"outputs": Outputs.LOSS}, "be losses, at least 0"),
        ({"coins": "independent"}, "coins must be Coins.INDEPENDENT or"),
        ({"orientation": audit.Orientation.LOWER, "outputs": Outputs.LOGIT}, "be left out unless"),
        ({"orientation": audit.Orientation.EITHER}, "orientation must be left out unless"),
        ({"prior": 0.3, "coins": Coins.FIXED_SIZE}, "be left out unless coins=Coins.INDEPENDENT"),
        ({"population": np.zeros((3, 3))}, "one row for each of 24 models"),
    ],
)
def test_what_is_no_matrix_is_refused(change, words):
    logits, mask = drawn(Coins.INDEPENDENT)
    with pytest.raises(InvalidArgument, match=words):
        Matrix(**({"scores": logits, "inclusion": mask, "coins": Coins.INDEPENDENT} | change))


def test_attacks_that_cannot_read_it_are_refused():
    logits, mask = drawn(Coins.INDEPENDENT)
    with pytest.raises(Unsupported, match="say what the numbers are"):
        Matrix(logits, mask, Coins.INDEPENDENT).pooled(attack=attacks.Rmia())
    one = Matrix(logits[:1], mask[:1], Coins.INDEPENDENT)
    with pytest.raises(InvalidArgument, match="leave some to fit the attack on"):
        one.pooled(attack=attacks.Lira())
    two = Matrix(logits[:3], mask[:3], Coins.INDEPENDENT)
    with pytest.raises(Unsupported, match="no record was in and out of enough models"):
        two.pooled(attack=attacks.Lira())
    with pytest.raises(Unsupported, match="to be audited by itself"):
        two.by_record(attack=attacks.Lira())
