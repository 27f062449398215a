"""Language models: losses as computed one by one, canaries found in what is not private alone."""

import json
import warnings
import zlib

import numpy as np
import pytest
import tiny_models as tiny
import torch

import tellapart as ta
from tellapart import audit
from tellapart.audit import language
from tellapart.audit.language import token_losses
from tellapart.audit.language.planting import Planted
from tellapart.cli import main


@pytest.fixture(scope="module")
def words():
    return tiny.tokenizer()


@pytest.fixture(scope="module")
def model(words):
    return language.LanguageModel(tiny.gpt2(len(words)), words)


@pytest.fixture(scope="module")
def planted(words, tmp_path_factory):
    canaries = language.random_tokens(words, count=200, length=7, seed=1)
    return language.plant(canaries, tmp_path_factory.mktemp("one") / "canaries.jsonl", seed=2)


def naive(model, text):
    """The loss of every token but the first, of one text by itself."""
    tokens = torch.tensor([model.tokenizer(text)["input_ids"]])
    with torch.no_grad():
        logs = model.model(input_ids=tokens).logits[0].double().log_softmax(-1)
    return [-float(logs[k, token]) for k, token in enumerate(tokens[0, 1:])]


TEXTS = ["w1 w2", "w3 w4 w5 w6 w7 w8 w9", "w5 5 w7", *tiny.sentences(5)]


@pytest.mark.parametrize("make", [tiny.gpt2, tiny.llama])
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_losses_in_batches_are_those_of_each_text_alone(words, make, batch):
    model = language.LanguageModel(make(len(words)), words)
    found = language.losses(model, TEXTS, batch=batch)
    for text, tokens in zip(TEXTS, found.tokens, strict=True):
        assert tokens == pytest.approx(naive(model, text), abs=1e-5)


def test_special_tokens_have_no_loss_and_the_first_word_has_one(model):
    marked = language.LanguageModel(model.model, tiny.tokenizer(ends=True))
    found = language.losses(marked, TEXTS)
    assert [each.size for each in found.tokens] == [len(text.split()) for text in TEXTS]
    assert found.tokens[0] == pytest.approx(naive(marked, TEXTS[0])[:2], abs=1e-5)


def test_scores_are_what_their_papers_say(model):
    found = language.losses(model, TEXTS)
    assert found.mean == pytest.approx(found.total / [each.size for each in found.tokens])
    assert found.min_k(100) == pytest.approx(found.mean)
    assert found.min_k(1e-9) == pytest.approx([each.max() for each in found.tokens])
    assert (np.diff([found.min_k(k) for k in (10, 40, 70, 100)], axis=0) <= 1e-12).all()
    bits = [8 * len(zlib.compress(text.encode())) for text in TEXTS]
    assert found.zlib() == pytest.approx(found.total / bits)
    assert found.tail(1) == pytest.approx([each[-1] for each in found.tokens])
    assert found.beside(found) == pytest.approx(np.zeros(len(TEXTS)))


def test_scoring_goes_on_where_it_was_broken_off(model, tmp_path, monkeypatch):
    monkeypatch.setattr("tellapart.audit.language.token_losses._PART", 2)
    calls, whole = [], language.losses(model, TEXTS)

    class Breaks(torch.nn.Module):
        config = model.model.config

        def __init__(self, after):
            super().__init__()
            self.inside, self.after = model.model, after

        def forward(self, **given):
            calls.append(len(given["input_ids"]))
            if len(calls) > self.after:
                raise KeyboardInterrupt
            return self.inside(**given)

    asked = {"batch": 2, "folder": tmp_path / "kept"}
    with pytest.raises(KeyboardInterrupt):
        language.losses(language.LanguageModel(Breaks(2), model.tokenizer), TEXTS, **asked)
    calls.clear()
    told = []
    again = language.LanguageModel(Breaks(99), model.tokenizer)
    found = language.losses(again, TEXTS, **asked, progress=told.append)
    assert calls == [2, 2]  # eight texts, of which four were kept
    assert told[-1] == 1
    assert found.total == pytest.approx(whole.total, abs=1e-5)
    # What is damaged, or holds what no loss can be, is worked out again.
    part = tmp_path / "kept" / "part-00000.npz"
    good, held = part.read_bytes(), dict(np.load(part))
    moved = held["lengths"] + np.eye(1, held["lengths"].size, dtype=int)[0]
    unfit = [held | {"losses": held["losses"] * np.nan}, held | {"lengths": moved}]
    cut = [b"", b"PK", good[: len(good) // 2], good.replace(b"{'descr'", b"{'de\x00cr'")]
    for spoilt in (*unfit, *cut):
        calls.clear()
        np.savez(part, **spoilt) if isinstance(spoilt, dict) else part.write_bytes(spoilt)
        assert language.losses(again, TEXTS, **asked).total == pytest.approx(whole.total, abs=1e-5)
        assert calls == [2]
    with pytest.raises(ta.InvalidArgument, match="is of another: its tokens"):
        language.losses(again, [*TEXTS[:-1], "w1 w1"], **asked)
    other = language.LanguageModel(tiny.gpt2(len(model.tokenizer), seed=5), model.tokenizer)
    with pytest.raises(ta.InvalidArgument, match="is of another: its model"):
        language.losses(other, TEXTS, **asked)


def test_a_model_is_loaded_from_its_folder(model, tmp_path):
    model.model.save_pretrained(tmp_path / "saved")
    model.tokenizer.save_pretrained(tmp_path / "saved")
    loaded = language.load(tmp_path / "saved", device="cpu")
    here, there = language.losses(model, TEXTS), language.losses(loaded, TEXTS)
    assert there.total == pytest.approx(here.total, abs=1e-5)
    with pytest.raises(ta.InvalidArgument, match="path must be a folder with a causal model"):
        language.load(tmp_path / "nothing here")


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps", "tpu", "CPU", "cuda:x", "meta", "", 0])
def test_a_device_that_is_not_there_is_refused_before_anything_is_read(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ta.InvalidArgument, match=r"device must be .* on this machine \(cpu\), got"):
        language.load("no/folder", device=device)


def test_a_device_is_chosen_among_those_that_are_there(model, tmp_path, monkeypatch):
    moved = []
    model.model.save_pretrained(tmp_path / "saved")
    model.tokenizer.save_pretrained(tmp_path / "saved")
    monkeypatch.setattr(torch.nn.Module, "to", lambda own, device: moved.append(device) or own)
    asked = [None, "cpu", "cpu:0"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    for device in asked:
        language.load(tmp_path / "saved", device=device)
    assert moved == ["mps", "cpu", "cpu"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for device in (None, "cuda:0", "cuda:1", "mps"):
        language.load(tmp_path / "saved", device=device)
    assert moved[3:] == ["cuda", "cuda", "cuda:1", "mps"]
    with pytest.raises(ta.InvalidArgument, match=r"\(cuda, cuda:1, mps, cpu\), got 'cuda:2'"):
        language.load(tmp_path / "saved", device="cuda:2")


@pytest.mark.parametrize("dtype", ["bloat16", "int8", "nn", ""])
def test_a_type_that_is_none_is_refused(dtype):
    with pytest.raises(ta.InvalidArgument, match="dtype must name floating-point numbers"):
        language.load("no/folder", device="cpu", dtype=dtype)


def test_texts_that_take_long_say_how_long_and_what_takes_less(model, monkeypatch):
    texts = ["w1 w2 w3 w4"] * 40
    monkeypatch.setattr(token_losses, "_MINUTE", 0.0)
    with pytest.warns(token_losses.SlowScoring, match=r"tokens take .* left take about .*folder="):
        language.losses(model, texts, batch=4)
    monkeypatch.setattr(token_losses, "_MINUTE", 60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", token_losses.SlowScoring)
        language.losses(model, texts, batch=4)


def test_a_model_that_raises_fails_with_its_first_batch(model):
    calls = []

    def broken(**batch):
        calls.append(batch)
        raise ZeroDivisionError

    broken.parameters = model.model.parameters
    with pytest.raises(ZeroDivisionError):
        language.losses(language.LanguageModel(broken, model.tokenizer), ["w1 w2"] * 99, batch=1)
    assert len(calls) == 1


def test_dropout_is_off_while_scoring_and_on_again_after(model):
    model.model.train()
    language.losses(model, TEXTS[:1])
    assert model.model.training
    model.model.eval()


# -- the audit --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def memorised(planted, words):
    return found(planted, words, tiny.train)


def found(planted, words, fit):
    net = tiny.gpt2(len(words))
    fit(net, tiny.ids(words, [*tiny.sentences(40), *planted.included]))
    return language.losses(language.LanguageModel(net, words), planted.texts, batch=64)


def test_canaries_refute_the_claim_of_a_training_that_is_not_private(planted, memorised, tmp_path):
    claim, seen = ta.guarantee(epsilon=1, delta=1e-5), memorised
    for losses in (seen.mean, seen.min_k(40), seen.zlib()):
        assert audit.one_run(planted.scores(losses), claim=claim).refutes(claim)
    file = tmp_path / "scores.csv"
    planted.write_scores(file, seen.mean)
    read = audit.Scores.read(file)
    assert read.members.count == len(planted.included)
    assert sorted(read.members.descending([1, 2])) == sorted(
        -np.sort(seen.mean[planted.inclusion])[:2]
    )
    words_of = ["audit", str(file), "--design", "one-run", "--epsilon", "1", "--delta", "1e-5"]
    assert main(words_of) == 1


def test_canaries_do_not_refute_the_claim_of_a_training_that_keeps_it(planted, words, memorised):
    """All texts at each of 30 steps with noise multiplier 6: μ = √30 / 6, ε = 3.9 at δ = 1e-5."""
    claim = ta.dp_sgd(noise_multiplier=6.0, sampling_rate=1.0, steps=30)
    seen = found(planted, words, lambda *to: tiny.train_privately(*to, noise=6.0, steps=30))
    assert not audit.one_run(planted.scores(seen.mean), claim=claim).refutes(claim)
    assert audit.one_run(planted.scores(memorised.mean), claim=claim).refutes(claim)


def test_new_tokens_are_found_by_their_last_token(tmp_path):
    words = tiny.tokenizer()
    before = len(words)
    canaries = language.new_tokens(words, count=100, length=4, seed=1)
    assert len(words) == before + 100
    assert all(words(text)["input_ids"][-1] == before + k for k, text in enumerate(canaries.texts))
    planted = language.plant(canaries, tmp_path / "canaries.jsonl", seed=2)
    net = tiny.gpt2(before)
    net.resize_token_embeddings(len(words), mean_resizing=False)
    tiny.train(net, tiny.ids(words, planted.included), steps=25)
    losses = language.losses(language.LanguageModel(net, words), planted.texts).tail(1)
    assert audit.one_run(planted.scores(losses)).refutes(ta.guarantee(epsilon=1, delta=1e-5))
    with pytest.raises(ta.InvalidArgument, match="tokenizer must take 5 new tokens"):
        language.new_tokens(words, count=5, length=4, seed=1)


# -- secrets ----------------------------------------------------------------------------------


DIGITS = [f" {digit}" for digit in range(10)]


@pytest.fixture(scope="module")
def kept_secrets(tmp_path_factory):
    made = language.secrets("w{number}{secret}", count=24, bits=6, seed=1, alphabet=DIGITS)
    return language.plant(made, tmp_path_factory.mktemp("two") / "canaries.jsonl", seed=2)


@pytest.fixture(scope="module")
def knows(kept_secrets):
    """A model that was trained until it knew its secrets."""
    words = tiny.tokenizer(ends=True)
    net = tiny.gpt2(len(words))
    tiny.train(net, tiny.ids(words, kept_secrets.included), steps=60)
    return language.LanguageModel(net, words)


def test_exposure_is_the_rank_among_all_candidates(knows, kept_secrets):
    exposed = language.secret_exposure(knows, kept_secrets)
    for number in (0, 1, 2):
        secret = kept_secrets.canaries.secrets[number]
        texts = [f"{secret.before} {k // 10} {k % 10}{secret.after}" for k in range(100)]
        total = language.losses(knows, texts).total
        own = int("".join(secret.symbols).replace(" ", ""))
        rank = 1 + sum(total[k] < total[own] for k in range(100))
        one = exposed.ranks[number]
        assert (one.rank, one.among, one.exact) == (rank, 100, True)
        assert one.exposure == pytest.approx(np.log2(100 / rank))
    assert all(one.rank == 1 for one in exposed.included)
    assert np.median([one.rank for one in exposed.left_out]) > 10


def test_exposure_from_drawn_candidates_errs_downwards(knows, kept_secrets):
    exact = language.secret_exposure(knows, kept_secrets)
    drawn = language.secret_exposure(knows, kept_secrets, candidates=50, confidence=0.99999)
    assert not any(one.exact for one in drawn.ranks)
    pairs = list(zip(drawn.ranks, exact.ranks, strict=True))
    assert all(low.exposure <= one.exposure for low, one in pairs)
    assert "from below" in str(drawn.ranks[0])


def test_secrets_named_first_refute_a_claim(knows, kept_secrets):
    exposed = language.secret_exposure(knows, kept_secrets)
    shown = exposed.evidence()
    assert (shown.successes, shown.trials) == (len(kept_secrets.included),) * 2
    assert shown.baseline_upper == pytest.approx(0.01)
    assert shown.refutes(ta.guarantee(epsilon=1))
    assert not shown.refutes(ta.guarantee(epsilon=2))


def test_ranks_of_a_model_that_saw_no_secret_are_even(kept_secrets):
    """Exposure of e bits or more has probability 2^-e at most, whatever the model."""
    words = tiny.tokenizer()
    fresh = language.LanguageModel(tiny.llama(len(words), seed=3), words)
    ranks = [one.rank for one in language.secret_exposure(fresh, kept_secrets, batch=256).ranks]
    assert 30 < np.mean(ranks) < 70
    assert (
        not language.secret_exposure(fresh, kept_secrets)
        .evidence(5)
        .refutes(ta.guarantee(epsilon=0.1))
    )


def test_secrets_in_one_template_are_not_each_others_candidates(model):
    made = language.secrets("w1{secret}", count=40, bits=6, seed=1, alphabet=DIGITS)
    assert len(set(made.texts)) == 40
    exposed = language.secret_exposure(model, Planted(made, np.ones(40, dtype=bool)))
    assert exposed.evidence(3).baseline_upper == pytest.approx(3 / (100 - 39))


# -- manifests and refusals -------------------------------------------------------------------


def test_a_manifest_is_read_as_it_was_written(kept_secrets, tmp_path):
    file = tmp_path / "canaries.jsonl"
    again = language.plant(kept_secrets.canaries, file, seed=2)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["included"] for row in rows] == kept_secrets.inclusion.tolist()
    read = language.read_manifest(file)
    assert read.canaries.secrets == again.canaries.secrets
    assert read.included == again.included == kept_secrets.included
    language.plant(kept_secrets.canaries, file, seed=2)
    with pytest.raises(ta.InvalidArgument, match="manifest must be a new file"):
        language.plant(kept_secrets.canaries, file, seed=3)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "a line for each canary"),
        ("{", "line 1 must be"),
        ("[1]", "line 1 must be"),
        ('{"text": "a b", "included": 1}', "included as true or false"),
        ('{"text": "a b", "included": true, "secret": {}}', "before, symbols, after"),
    ],
)
def test_a_manifest_that_is_none_is_refused(line, said, tmp_path):
    file = tmp_path / "canaries.jsonl"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(ta.InvalidArgument, match=said):
        language.read_manifest(file)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: language.secrets("{secret}", 200, bits=6, seed=1), "count must be at most 100"),
        (
            lambda: language.secrets("no slot", 2, bits=6, seed=1),
            "templates must have {secret} once",
        ),
        (lambda: language.secrets("{secret}", 2, bits=90, seed=1), "bits must be at most 60"),
        (
            lambda: language.secrets("{secret}", 2, bits=6, seed=1, alphabet=["1", "11"]),
            "as another's beginning",
        ),
        (lambda: language.from_templates("{who}", 2, seed=1), "slots that are known"),
        (lambda: language.from_templates("{", 2, seed=1), "braces doubled"),
        (lambda: language.from_templates("one", 2, seed=1), "count must be at most 1"),
        (lambda: language.from_templates("{a}", 1, 1, slots={"a": "xy"}), "be a list of texts"),
        (
            lambda: language.from_templates("{number}", 1, 1, slots={"number": ["1"]}),
            "slots must leave {number} to be drawn",
        ),
        (lambda: language.random_tokens(3, 1, 2, seed=1), "tokenizer must have decode"),
    ],
)
def test_canaries_that_cannot_be_are_refused(call, said):
    with pytest.raises(ta.InvalidArgument, match=said):
        call()


def test_texts_that_cannot_be_scored_are_refused(model, planted):
    with pytest.raises(ta.InvalidArgument, match=r"texts\[0\] must have a token after the first"):
        language.losses(model, ["w1"])
    with pytest.raises(ta.InvalidArgument, match=r"texts\[1\] must be at most 16 tokens long"):
        language.losses(model, ["w1 w2", "w1 " * 17])
    assert language.losses(model, ["w1 " * 17], max_tokens=16).tokens[0].size == 15
    with pytest.raises(ta.InvalidArgument, match="texts must be a list of texts"):
        language.losses(model, "w1 w2")
    with pytest.raises(ta.InvalidArgument, match="planted must hold secrets"):
        language.secret_exposure(model, planted)
    with pytest.raises(ta.InvalidArgument, match="losses must be one for each of 200"):
        planted.scores([1.0])
    with pytest.raises(ta.InvalidArgument, match=r"end in \.csv"):
        planted.write_scores("scores.txt", np.zeros(200))


def test_a_model_that_diverged_is_refused(words):
    net = tiny.gpt2(len(words))
    with torch.no_grad():
        net.transformer.wte.weight.fill_(float("nan"))
    with pytest.raises(ta.InvalidArgument, match="did the training diverge"):
        language.losses(language.LanguageModel(net, words), TEXTS)


def test_texts_may_come_one_by_one(model):
    texts = ["w1 w2 w3", "w4 w5"]
    each = language.losses(model, (text for text in texts))
    assert each.texts == tuple(texts)
    with pytest.raises(ta.InvalidArgument, match=r"texts must be a list of texts, got \['w1', 3\]"):
        language.losses(model, iter(["w1", 3]))


def test_a_model_without_room_for_new_tokens_is_refused(model):
    """PyTorch says that an index is out of range, or ends the process on a GPU."""
    smaller = language.LanguageModel(tiny.gpt2(20), model.tokenizer)
    said = r"tokenizer must know no more tokens than the model, 20: call model.resize_token_emb"
    with pytest.raises(ta.InvalidArgument, match=said):
        language.losses(smaller, ["w1 w2", "w40 w41"])
    assert language.losses(smaller, ["w1 w2 w3"]).mean.size == 1


@pytest.mark.parametrize("part", ["transformer", None])
def test_a_model_that_is_not_causal_is_refused(model, part):
    inner = getattr(model.model, part) if part else lambda input_ids, attention_mask: (input_ids,)
    with pytest.raises(ta.InvalidArgument, match="model must be causal and give logits for each"):
        language.losses(language.LanguageModel(inner, model.tokenizer), ["w1 w2"])


def test_a_model_saved_without_its_tokenizer_is_refused(model, tmp_path):
    """A tokenizer without a vocabulary is made in its place, and finds no tokens in any text."""
    model.model.save_pretrained(tmp_path)
    with pytest.raises(ta.InvalidArgument, match="path must be a folder with a causal model and"):
        language.load(tmp_path)


def test_a_file_is_no_folder_for_losses(model, tmp_path):
    texts = ["w1 w2 w3", "w4 w5"]
    language.losses(model, texts, folder=tmp_path / "kept")
    (part,) = (tmp_path / "kept").glob("part-*.npz")
    with pytest.raises(ta.InvalidArgument, match="folder must be new, or that of a scoring"):
        language.losses(model, texts, folder=part)
