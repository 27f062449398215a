"""Losses of texts under a causal language model, token by token, in batches that can go on later.

Scores that tell members, all of them lower for members: the mean loss (Yeom et al. 2018), the mean
over the least likely k % of tokens (min-k %, Shi et al. 2024), the loss beside that of a reference
model (Carlini et al. 2021, Mireshghallah et al. 2022), and the loss for each bit that zlib needs
(Carlini et al. 2021). Which one is audited must be settled before the coins are looked at; each
further one costs its share of the level.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, _files, deadline, run
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart._progress import in_words, shown
from tellapart.audit import checkpoints
from tellapart.data import npz
from tellapart.data.sources import FileLimits, Source
from tellapart.errors import InvalidArgument, TellapartError, Unsupported

Tokens = NDArray[np.int64]
# Texts whose losses are kept in one file.
_PART = 256


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A causal model and its tokenizer, as Hugging Face's transformers have them.

    ``model(input_ids=..., attention_mask=...).logits`` and ``tokenizer(texts)`` are all that is
    asked. The model stays on its device.

    >>> from tellapart.audit import language
    >>> language.LanguageModel(model=None, tokenizer=None)
    Traceback (most recent call last):
    tellapart.errors.InvalidArgument: model must be a causal model that is called, got None
    """

    model: Any
    tokenizer: Any

    def __post_init__(self) -> None:
        if not callable(self.model):
            _checks.refuse("model", "be a causal model that is called", self.model)
        if not callable(self.tokenizer):
            _checks.refuse("tokenizer", "be that of the model", self.tokenizer)

    def tokens(self, texts: Sequence[str], max_tokens: int | None = None) -> list[_Tokens]:
        """The tokens of each text, and which of them the tokenizer put there itself."""
        if not texts:
            return []
        given = self.tokenizer(list(texts), return_special_tokens_mask=True)
        pairs = zip(given["input_ids"], given["special_tokens_mask"], strict=True)
        tokenized = [
            _Tokens(np.array(ids[:max_tokens]), np.array(own[:max_tokens])) for ids, own in pairs
        ]
        longest = getattr(getattr(self.model, "config", None), "max_position_embeddings", None)
        embeddings = getattr(self.model, "get_input_embeddings", lambda: None)()
        known = getattr(embeddings, "num_embeddings", None)
        for number, (text, tokens) in enumerate(zip(texts, tokenized, strict=True)):
            if longest is not None and tokens.ids.size > longest:
                rule = f"be at most {longest} tokens long for this model, or set max_tokens"
                _checks.refuse(f"texts[{number}]", rule, text)
            if known is not None and tokens.ids.size and tokens.ids.max() >= known:
                rule = (
                    f"know no more tokens than the model, {known}: call "
                    "model.resize_token_embeddings(len(tokenizer)) before the training"
                )
                _checks.refuse("tokenizer", rule, f"token {tokens.ids.max()} in {text!r}")
            if not tokens.scored.any():
                rule = "have a token after the first: of that one a causal model says nothing"
                _checks.refuse(f"texts[{number}]", rule, text)
        return tokenized


@dataclass(frozen=True, eq=False)
class _Tokens:
    """A text as token ids, and where the tokenizer added special ones."""

    ids: Tokens
    special: NDArray[Any]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Of the tokens that are predicted, all but the first, those that are the text's own."""
        return np.asarray(self.special[1:] == 0)


@dataclass(frozen=True, eq=False)
class TokenLosses:
    """The loss of every token of every text, in nats; scores of a text are lower for members."""

    texts: tuple[str, ...]
    tokens: tuple[Array, ...]

    @property
    def total(self) -> Array:
        """Minus the log-likelihood of each text, in nats."""
        return np.array([each.sum() for each in self.tokens])

    @property
    def mean(self) -> Array:
        """The loss of each text: the mean of its tokens'."""
        return np.array([each.mean() for each in self.tokens])

    def tail(self, count: int) -> Array:
        """The mean loss of the last tokens, as of a secret or of a new token."""
        many = _checks.whole(1, count=count)
        return np.array([each[-many:].mean() for each in self.tokens])

    def min_k(self, percent: float = 20.0) -> Array:
        """Min-k %: the mean loss of the least likely ``percent`` of tokens, at least one."""
        share = _checks.finite_above_zero(percent=percent) / 100
        if share > 1:
            _checks.refuse("percent", "be at most 100", percent)
        kept = (np.sort(each)[-max(int(share * each.size), 1) :] for each in self.tokens)
        return np.array([each.mean() for each in kept])

    def zlib(self) -> Array:
        """The loss of each text for each bit of what zlib makes of it."""
        bits = [8 * len(zlib.compress(text.encode("utf-8"))) for text in self.texts]
        return np.asarray(self.total / np.array(bits))

    def beside(self, reference: TokenLosses) -> Array:
        """The loss beside that of a reference model, which must not depend on the coins.

        A reference that was trained on the included canaries would make the audit refute anything.
        """
        _checks.instance(TokenLosses, "losses of the same texts", reference=reference)
        if reference.texts != self.texts:
            _checks.refuse("reference", "have the losses of the same texts", len(reference.texts))
        return np.asarray(self.mean - reference.mean)


def load(
    path: str | os.PathLike[str], *, device: str | None = None, dtype: str | None = None
) -> LanguageModel:
    """A causal model and its tokenizer, from a folder that ``save_pretrained`` wrote.

    ``device`` is "cpu", "cuda", "cuda:1" or "mps" (by default a GPU if there is one), ``dtype`` for
    example "bfloat16" (by default that of the files). A device that is not there is refused before
    anything is read. Code that comes with a model is not run.
    """
    _checks.instance(str | os.PathLike, "a folder or a model's name", path=path)
    torch = _torch()
    chosen = _device(torch, device)
    if dtype is not None and not _is_float(getattr(torch, str(dtype), None)):
        rule = "name floating-point numbers of PyTorch, such as 'float32' or 'bfloat16'"
        _checks.refuse("dtype", rule, dtype)
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as missing:
        raise Unsupported(_EXTRA) from missing
    where = os.fspath(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(where)
        if len(tokenizer) <= len(tokenizer.all_special_ids):  # what is made where there is none
            raise ValueError("its tokenizer knows no token of a text, as if none had been saved")
        model = AutoModelForCausalLM.from_pretrained(where, dtype=dtype or "auto")
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())
        raise InvalidArgument(
            f"path must be a folder with a causal model and its tokenizer, as save_pretrained "
            f"writes it, got {where!r}: {_checks.shortened(said, 200)}"
        ) from error
    return LanguageModel(model.to(chosen).eval(), tokenizer)


def losses(
    model: LanguageModel,
    texts: Sequence[str],
    *,
    batch: int = 16,
    max_tokens: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: run.Progress | bool = False,
) -> TokenLosses:
    """What the model makes of every text, token by token, on the model's device.

    Texts of like length go together, ``batch`` at a time. With ``folder`` losses are kept as they
    come, and a call with the same model and texts goes on where another was broken off.
    ``progress=True`` shows a bar, or a line a minute; where all texts take longer than a minute, a
    warning says how long after the first batches. The first token has no loss unless the tokenizer
    puts one before it; special tokens that it adds have none. Texts longer than ``max_tokens`` are
    cut.

    >>> from tellapart.audit import language
    >>> import torch
    >>> class Even(torch.nn.Module):                   # every one of 4 tokens is as likely
    ...     def forward(self, input_ids, attention_mask):
    ...         self.logits = torch.zeros(*input_ids.shape, 4)
    ...         return self
    >>> def tokenizer(texts, return_special_tokens_mask):
    ...     ids = [[int(sign) for sign in text] for text in texts]
    ...     return {"input_ids": ids, "special_tokens_mask": [[0] * len(each) for each in ids]}
    >>> found = language.losses(language.LanguageModel(Even(), tokenizer), ["0123", "01"])
    >>> found.total.round(4).tolist(), found.min_k(20).round(4).tolist()
    ([4.1589, 1.3863], [1.3863, 1.3863])
    """
    _checks.instance(LanguageModel, "a language.LanguageModel", model=model)
    size = _checks.whole(1, batch=batch)
    cut = None if max_tokens is None else _checks.whole(2, max_tokens=max_tokens)
    if isinstance(texts, str) or not hasattr(texts, "__iter__"):
        _checks.refuse("texts", "be a list of texts", texts)
    every = tuple(texts)
    if not all(isinstance(text, str) for text in every):
        _checks.refuse("texts", "be a list of texts", list(every))
    if not every:
        _checks.refuse("texts", "not be empty", texts)
    if not isinstance(progress, bool):
        _checks.function(progress=progress)
    tokens = model.tokens(every, cut)
    # The longest first: memory that does not suffice shows at once.
    order = sorted(range(len(every)), key=lambda k: -tokens[k].ids.size)
    where = None if folder is None else _folder(folder, model, tokens)
    kept: dict[int, Array] = {}
    pace = _Pace(sum(each.ids.size for each in tokens))
    with shown(progress, "texts", len(every)) as tell, _scoring(model.model):
        for part in range(0, len(order), _PART):
            some = order[part : part + _PART]
            file = None if where is None else where / f"part-{part // _PART:05d}.npz"
            done = None if file is None else _read(file, [tokens[k] for k in some])
            if done is not None:
                kept.update(zip(some, done, strict=True))
                pace.left -= sum(tokens[k].ids.size for k in some)
                continue
            for start in range(0, len(some), size):
                deadline.check()
                if tell is not None:
                    tell((part + start) / len(order))
                several = some[start : start + size]
                kept.update(zip(several, _batch(model, [tokens[k] for k in several]), strict=True))
                pace.after(sum(tokens[k].ids.size for k in several))
            if file is not None:
                _files.whole(file, partial(_write, rows=[kept[k] for k in some]))
        if tell is not None:
            tell(1.0)
    return TokenLosses(every, tuple(kept[k] for k in range(len(every))))


class SlowScoring(UserWarning):
    """One batch takes so long that all texts take more than a minute."""


_MINUTE = 60.0


class _Pace:
    """Says once how long all texts will take, by the first batches, where that is long."""

    def __init__(self, tokens: int) -> None:
        self.left, self._batches, self._last = tokens, 0, time.monotonic()

    def after(self, tokens: int) -> None:
        """So many tokens are scored; of the first batch the time is not typical."""
        now = time.monotonic()
        took, self._last = now - self._last, now
        self.left -= tokens
        self._batches += 1
        if self._batches == _TELLING and took / tokens * self.left > _MINUTE:
            warnings.warn(
                f"{tokens:,} tokens take {short(took, 2)} s: the {self.left:,} that are left take "
                f"about {in_words(took / tokens * self.left)}. folder= keeps what is done, "
                "progress=True shows the time left; a GPU (language.load(..., device='cuda')), a "
                "larger batch=, max_tokens= or fewer texts take less",
                SlowScoring,
                stacklevel=3,
            )


_TELLING = 2

# -- inside ----------------------------------------------------------------------------------------

_EXTRA = "language models need: pip install 'tellapart[transformers]'"


def _torch() -> Any:
    try:
        import torch
    except ImportError as missing:
        raise Unsupported(_EXTRA) from missing
    return torch


def _device(torch: Any, asked: str | None) -> str:
    """A device that is there: the one asked for, or a GPU, or else the CPU."""
    there = {
        "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0,
        "mps": int(torch.backends.mps.is_available()),
        "cpu": 1,
    }
    known = [f"{kind}:{k}" if k else kind for kind, count in there.items() for k in range(count)]
    if asked is None:
        return known[0]
    plain = str(asked).removesuffix(":0")
    if not isinstance(asked, str) or plain not in known:
        rule = f"be one that PyTorch finds on this machine ({', '.join(known)})"
        _checks.refuse("device", rule, asked)
    return plain


def _is_float(kind: Any) -> bool:
    return bool(getattr(kind, "is_floating_point", False))


@contextmanager
def _scoring(model: Any) -> Iterator[None]:
    """The model without dropout and gradients, and afterwards as it was."""
    torch = _torch()
    training = bool(getattr(model, "training", False))
    if training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        if training:
            model.train()


def _batch(model: LanguageModel, some: list[_Tokens]) -> list[Array]:
    """The losses of the texts' own tokens; short texts are filled up on the right and masked."""
    torch = _torch()
    weights: Any = getattr(model.model, "parameters", tuple)()
    device = next((each.device for each in weights), torch.device("cpu"))
    shape = len(some), max(each.ids.size for each in some)
    ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, each in enumerate(some):
        ids[row, : each.ids.size], mask[row, : each.ids.size] = each.ids, 1
    on = torch.from_numpy(ids).to(device)
    output = model.model(input_ids=on, attention_mask=torch.from_numpy(mask).to(device))
    logits = getattr(output, "logits", None)
    if logits is None or tuple(logits.shape[:-1]) != shape:
        rule = (
            "be causal and give logits for each token, as AutoModelForCausalLM and language.load do"
        )
        _checks.refuse("model", rule, type(model.model).__name__)
    lost = torch.nn.functional.cross_entropy(
        logits[:, :-1].float().flatten(0, 1), on[:, 1:].flatten(), reduction="none"
    )
    # To the CPU first: not every device knows doubles.
    values = lost.cpu().double().numpy().reshape(shape[0], -1)
    rows = [
        values[row, : each.ids.size - 1][each.scored].astype(np.float64)
        for row, each in enumerate(some)
    ]
    for each in rows:
        if not np.isfinite(each).all():
            rule = "give every token a finite loss (did the training diverge?)"
            _checks.refuse("model", rule, float(each[~np.isfinite(each)][0]))
    return rows


def _folder(folder: str | os.PathLike[str], model: LanguageModel, tokens: list[_Tokens]) -> Path:
    asked = {
        "format": 1,
        "versions": checkpoints.versions(),
        "texts": len(tokens),
        "tokens": checkpoints.data_fingerprint([[each.ids, each.special] for each in tokens]),
        "model": _weights(model.model),
    }
    where, _ = checkpoints.opened_folder(folder, asked, "scoring")
    return where


def _weights(model: Any) -> str:
    """A short name for all that a model has learnt, whatever its device."""
    torch, digest = _torch(), hashlib.sha256()
    for name, values in model.state_dict().items():
        digest.update(f"{name} {values.dtype} {tuple(values.shape)};".encode())
        flat = values.detach().cpu().contiguous().flatten()
        if flat.numel():
            digest.update(flat.view(torch.uint8).numpy())
    return digest.hexdigest()[:32]


def _write(part: Path, rows: list[Array]) -> None:
    lengths = np.array([each.size for each in rows])
    with part.open("wb") as out:
        np.savez(out, losses=np.concatenate(rows), lengths=lengths)


def _read(file: Path, texts: list[_Tokens]) -> list[Array] | None:
    """What is kept of these texts; None where there is nothing that can be read."""
    try:
        with ExitStack() as opened:
            packed = npz.ArchiveTable(Source(file), FileLimits(), opened)
            losses, lengths = packed.whole("losses"), packed.whole("lengths")
    except TellapartError:
        return None
    # Damaged, or of another's hand: each text has a loss for every token that is scored.
    known = lengths.tolist() == [int(each.scored.sum()) for each in texts]
    if not known or losses.dtype.kind != "f" or losses.shape != (sum(lengths.tolist()),):
        return None
    return np.split(losses, np.cumsum(lengths)[:-1]) if np.isfinite(losses).all() else None
