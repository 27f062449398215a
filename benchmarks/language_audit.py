"""A language model audited end to end: canaries planted, losses, exposure of secrets, verdict.

A GPT-2 made from its configuration learns made text, canaries of random tokens and 40
secrets of 20 bits, each in by a fair coin, without privacy; it is saved, loaded and audited. On a
GPU: ``--device cuda --layers 12 --width 768 --dtype bfloat16``. Other options: ``--canaries N``,
``--steps N``, ``--batch N``, ``--candidates N`` (drawn for each secret).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from _timing import print_rows, told, versions
from fleet import hardware
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import tellapart as ta
from tellapart import audit
from tellapart.audit import language
from tellapart.audit.language.planting import Planted

WORDS, LENGTH, SECRETS, BITS, DELTA = 500, 12, 40, 20, 1e-5
DIGITS = [f" w{digit}" for digit in range(10)]


def main() -> int:
    """Print the seconds of each part and what was shown; 1 if ε = 1 is not refuted."""
    options = read()
    tokenizer = words()
    with TemporaryDirectory() as folder:
        home, seconds = Path(folder), dict[str, float]()
        canaries = language.random_tokens(tokenizer, options.canaries, LENGTH, seed=1)
        planted = language.plant(canaries, home / "canaries.jsonl", seed=2)
        secrets = language.secrets("w{number}{secret}", SECRETS, BITS, seed=3, alphabet=DIGITS)
        hidden = language.plant(secrets, home / "secrets.jsonl", seed=4)
        with timed(seconds, "training, without privacy"):
            trained(options, tokenizer, planted, hidden, home / "model")
        with timed(seconds, "loading"):
            model = language.load(home / "model", device=options.device, dtype=options.dtype)
        asked = {"batch": options.batch, "progress": sys.stderr.isatty()}
        with timed(seconds, f"losses of {options.canaries:,} canaries"):
            found = language.losses(model, planted.texts, folder=home / "losses", **asked)
        with timed(seconds, f"exposure of {SECRETS}, {options.candidates:,} candidates each"):
            exposed = language.secret_exposure(
                model, hidden, candidates=options.candidates, **asked
            )
        claim = ta.guarantee(epsilon=1, delta=DELTA)
        with timed(seconds, "verdict"):
            evidence = audit.one_run(planted.scores(found.mean), claim=claim)
            refuted = audit.judge(claim, evidence).refuted
    size = sum(each.numel() for each in model.model.parameters())
    print(versions("torch", "transformers", "numpy"))
    print(f"Hardware: {hardware(options.device)}")
    print(f"GPT-2 with {size:,} parameters, {options.steps} steps of all texts\n")
    print_rows(("", "seconds"), [(name, f"{took:.2f}") for name, took in seconds.items()])
    print(f"\n{exposed}")
    print(f"ε {evidence.epsilon_lower(DELTA)}")
    return 1 if told("ε = 1 at δ = 1e-5 refuted", refuted) else 0


def read() -> argparse.Namespace:
    """The options, small by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default=None)
    whole = {"layers": 2, "width": 64, "canaries": 300, "steps": 40, "batch": 128}
    for name, default in {**whole, "candidates": 100}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


@contextmanager
def timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    """Wall-clock seconds of what is done inside."""
    start = time.perf_counter()
    yield
    seconds[what] = time.perf_counter() - start


def words() -> PreTrainedTokenizerFast:
    """A tokenizer of whole words, made here."""
    known = {"<pad>": 0} | {f"w{k}": k + 1 for k in range(WORDS)}
    made = Tokenizer(models.WordLevel(known))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>")  # noqa: S106


def trained(
    options: argparse.Namespace,
    tokenizer: PreTrainedTokenizerFast,
    planted: Planted,
    hidden: Planted,
    folder: Path,
) -> None:
    """A model that learnt made text and what was planted, in a folder as its library writes it."""
    torch.manual_seed(0)
    heads = max(options.width // 64, 1)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=32, n_embd=options.width, n_layer=options.layers,
        n_head=heads, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).to(options.device)
    draw = np.random.default_rng(0)
    starts = draw.integers(WORDS, size=options.canaries)
    made = [" ".join(f"w{(s + 3 * k) % WORDS}" for k in range(LENGTH)) for s in starts]
    blocks = [
        torch.tensor(tokenizer(texts)["input_ids"], device=options.device)
        for texts in ([*made, *planted.included], hidden.included)
    ]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2 if options.width < 256 else 1e-3)
    for _ in range(options.steps):
        optimizer.zero_grad()
        for tokens in blocks:
            for part in tokens.split(256):
                (model(input_ids=part, labels=part).loss * len(part) / len(blocks[0])).backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    sys.exit(main())
