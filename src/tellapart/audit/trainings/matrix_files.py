"""Files of matrices: plain arrays and tables, and what LiRA's code and attack tools leave behind.

Plain:

- ``.npz``: an array named for what it holds (scores, losses, logits or confidences), one of
  inclusion (or keep, mask, memberships), and perhaps population;
- ``.npy``: the numbers, and ``inclusion=`` the path of the mask;
- ``.parquet``: one row for each model and record, columns model, record, inclusion and score (or
  loss, logit, confidence), and perhaps augmentation.

Tools, each as its own code defines it:

- LiRA's reference code (tensorflow/privacy, research/mi_lira_2021): ``train.py`` writes
  ``experiment*/keep.npy``, ``inference.py`` ``experiment*/logits/EPOCH.npy`` of shape (records, 1,
  augmentations, classes), ``score.py`` ``experiment*/scores/EPOCH.npy`` of shape (records,
  augmentations); ``plot.py`` reads the last epoch. With ``--num_experiments`` every record is in
  the same number of models; else every coin is by itself.
- Privacy Meter (privacytrustlab/ml_privacy_meter): ``models/utils.py`` writes
  ``models/memberships.npy`` (models, records), ``get_signals.py`` ``signals/*_signals.npy``
  (records, models), probabilities of the right label, and ``*_signals_pop.npy`` of the population.
  ``split_dataset_for_training`` trains models in pairs, on one half and on the other.
- PrivacyGuard (facebookresearch/PrivacyGuard): ``prepare_rmia_data`` makes tables of members and
  non-members of the target model with columns score_orig, score_ref_N and member_ref_N; the models
  are those of ``create_shadow_datasets``, which balances records over models.

LeakPro keeps who was in which model in pickles alone, which run code when they are opened: its
folders are refused, in words. jax-privacy has no file of a matrix: its auditor takes the scores of
two groups from memory, as `audit.Scores` does.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart.audit.trainings.inclusion import Coins, first_of_each, mask_of
from tellapart.data import columns, npz, parquet
from tellapart.data.ranked import Mask
from tellapart.data.scores_and_labels import CellMeaning
from tellapart.data.sources import FileLimits, Source
from tellapart.errors import BadScores, InvalidArgument, NoColumn


class Outputs(Enum):
    """What the numbers of a matrix are: of the right label, or scores of an attack.

    CONFIDENCE: probabilities of the right label. LOSS: minus their logarithm. LOGIT: log(p/(1-p)).
    SCORE: anything else, with an orientation.
    """

    CONFIDENCE = "confidence"
    LOSS = "loss"
    LOGIT = "logit"
    SCORE = "score"


Numbers = NDArray[Any]
# What an array is named, and so what it holds.
_NAMES = {
    "scores": Outputs.SCORE,
    "score": Outputs.SCORE,
    "losses": Outputs.LOSS,
    "loss": Outputs.LOSS,
    "logits": Outputs.LOGIT,
    "logit": Outputs.LOGIT,
    "confidences": Outputs.CONFIDENCE,
    "confidence": Outputs.CONFIDENCE,
}
_MASKS = ("inclusion", "keep", "mask", "memberships", "membership", "member")
_POPULATION = "population"
_NUMBERED = re.compile(r"experiment[-_]\d+_(?:of_)?(\d+)$")
# A probability of exactly 0 has no logarithm, and float32 has none below this.
_SMALLEST = 1e-45
_KINDS = ".npz, .npy, .parquet, or a folder of LiRA's reference code or of Privacy Meter"


def is_matrix(path: str | os.PathLike[str]) -> bool:
    """Whether a path is plainly a matrix: a folder, or an .npz file with a table and its mask."""
    place = Path(path)
    if place.is_dir():
        return True
    if place.suffix.lower() != ".npz" or not place.is_file():
        return False
    try:
        with ExitStack() as opened:
            packed = npz.ArchiveTable(Source(place), FileLimits(), opened)
            masks = [name for name in _MASKS if name in packed.names]
            # Scores of one run have no rows and columns.
            named = not _NAMES.keys().isdisjoint(packed.names)
            return named and any(packed.axes(name) == 2 for name in masks)
    except BadScores:  # nor anything else that can be read
        return False


def read(path: str | os.PathLike[str], inclusion: str | os.PathLike[str] | None) -> dict[str, Any]:
    """The arguments of a `Matrix` that a file or folder tells: numbers, mask, and what they are."""
    place = Path(path)
    if not place.exists():
        raise BadScores(f"path must name a file or folder that is there, got {str(place)!r}")
    if place.is_dir():
        contents = _folder(place, mask_given=inclusion is not None)
    else:
        readers = {".npz": _npz, ".npy": _npy, ".parquet": _parquet}
        reader = readers.get(place.suffix.lower())
        if reader is None:
            raise BadScores(f"a matrix must be {_KINDS}, got {place}")
        contents = reader(place)
    if inclusion is not None:
        contents["inclusion"] = _loaded(Path(inclusion))
    if "inclusion" not in contents:
        raise InvalidArgument(
            f"inclusion must be given for {place}: the path of a mask, one row a model and one "
            "column a record"
        )
    return contents


def _loaded(path: Path) -> Numbers:
    """One plain array; never unpickled, and no larger than its file."""
    if not path.is_file():
        raise BadScores(f"{path} must be an .npy file that is there")
    return npz.alone(Source(path))


def _npy(path: Path) -> dict[str, Any]:
    return {"scores": _loaded(path)}


def _npz(path: Path) -> dict[str, Any]:
    with ExitStack() as opened:
        packed = npz.ArchiveTable(Source(path), FileLimits(), opened)
        there = packed.names
        number, mask = _one_of(there, tuple(_NAMES), path), _some_of(there, _MASKS, path)
        wanted = {"scores": number, "inclusion": mask}
        if _POPULATION in there:
            wanted[_POPULATION] = _POPULATION
        held = {what: packed.whole(name) for what, name in wanted.items() if name is not None}
    return held | {"outputs": _NAMES[number]}


def _one_of(there: Sequence[str], names: Sequence[str], path: Path) -> str:
    chosen = _some_of(there, names, path)
    if chosen is None:
        raise BadScores(
            f"{path} must have one of {', '.join(names)}, has {columns.listed(list(there))}"
        )
    return chosen


def _some_of(there: Sequence[str], names: Sequence[str], path: Path) -> str | None:
    present = [name for name in names if name in there]
    if len(present) > 1:
        raise BadScores(f"{path} must have one of {', '.join(present)}, has all of them: keep one")
    return present[0] if present else None


def _parquet(path: Path) -> dict[str, Any]:
    """One row a model and record, as a table that need not be sorted."""
    source = Source(path)
    with parquet.connected(None) as ask, source.named() as name:
        file = parquet.DuckFile(source, name)
        described = parquet.fetch_rows(ask, file, "DESCRIBE SELECT * FROM read_parquet(?)")
        there = [str(row[0]) for row in described]
        number, mask = _one_of(there, tuple(_NAMES), path), _one_of(there, _MASKS, path)
        keys = [key for key in ("model", "record", "augmentation") if key in there]
        if keys[:2] != ["model", "record"]:
            raise BadScores(
                f"{path} must have columns model and record, has {columns.listed(there)}"
            )
        said = ", ".join(parquet.quoted(key) for key in (*keys, number, mask))
        table = parquet.fetch_arrays(ask, file, f"SELECT {said} FROM read_parquet(?)")  # noqa: S608
    for key, values in table.items():
        if np.ma.is_masked(values):
            raise BadScores(f"{key} must not be missing, and is in {path}")
    places = [np.unique(np.asarray(table[key]), return_inverse=True) for key in keys]
    shape = tuple(len(labels) for labels, _ in places)
    at = tuple(which.reshape(-1) for _, which in places)
    rows = len(table[number])
    if rows != np.prod(shape) or len(set(np.ravel_multi_index(at, shape).tolist())) != rows:
        raise BadScores(
            f"{path} must have one row for each {' and '.join(keys)}: {rows:,} rows are not "
            f"{' x '.join(f'{size:,}' for size in shape)}"
        )
    scores = np.empty(shape, dtype=np.asarray(table[number]).dtype)
    scores[at] = np.asarray(table[number])
    inside = np.zeros(shape[:2], dtype=np.bool_)
    member, _ = CellMeaning(offers_drop=False).members(
        mask, table[mask], lambda row: parquet.place_of(row, source)
    )
    inside[at[:2]] = member
    if (inside[at[:2]] != member).any():
        raise BadScores(f"{mask} must be the same for all augmentations of a record in {path}")
    return {"scores": scores, "inclusion": inside, "outputs": _NAMES[number]}


def _folder(place: Path, mask_given: bool) -> dict[str, Any]:
    experiments = sorted(
        (folder for folder in place.rglob("experiment*") if (folder / "keep.npy").is_file()),
        key=lambda folder: [int(part) if part.isdigit() else part for part in _digits(folder.name)],
    )
    if experiments:
        return _lira(place, experiments)
    if (place / "models" / "memberships.npy").is_file():
        return _privacy_meter(place, mask_given)
    if any(place.rglob("metadata_*.pkl")) or any(place.rglob("sm_*_logits.npy")):
        raise BadScores(
            f"{place} must have a mask: LeakPro keeps who trained which shadow model in pickles "
            "(metadata_N.pkl, train_indices), which are not opened, as a pickle runs code; save "
            "logits and mask with np.savez('matrix.npz', logits=..., inclusion=...)"
        )
    raise BadScores(f"a matrix must be {_KINDS}, got the folder {str(place)!r}")


def _digits(name: str) -> list[str]:
    return re.split(r"(\d+)", name)


def _lira(place: Path, experiments: list[Path]) -> dict[str, Any]:
    """Scores of the last epoch of each experiment, or made from its logits; and who was kept."""
    rows = [_epoch_scores(folder, place / "y_train.npy") for folder in experiments]
    kept = [_loaded(folder / "keep.npy") for folder in experiments]
    if len({row.shape for row in rows}) > 1:
        raise BadScores(f"scores must have one shape in all experiments of {place}")
    numbers = np.array(rows)
    if len({row.shape for row in kept}) > 1 or kept[0].ndim != 1 or len(kept[0]) < len(rows[0]):
        raise BadScores(f"keep.npy must have one entry for each record in {place}")
    arguments = {
        "scores": numbers,
        "inclusion": np.array(kept)[:, : numbers.shape[1]],
        "outputs": Outputs.LOGIT,
    }
    numbered = [_NUMBERED.match(folder.name) for folder in experiments]
    if not all(numbered):
        return arguments | {"coins": Coins.INDEPENDENT} | _kept_share(experiments[0])
    total = int(numbered[0][1]) if numbered[0] else 0
    if total != len(experiments):
        raise BadScores(
            f"{place} must have all of {total} experiments, as each record is in the same number "
            f"of them, has {len(experiments)}"
        )
    return arguments | {"coins": Coins.BALANCED}


def _kept_share(experiment: Path) -> dict[str, float]:
    """The chance of each coin, as hparams.json says; nothing where it does not."""
    try:
        kept = json.loads((experiment / "hparams.json").read_text(encoding="utf-8"))["pkeep"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return {"prior": kept}


def _epoch_scores(folder: Path, labels: Path) -> Numbers:
    scores, logits = _last(folder / "scores"), _last(folder / "logits")
    if scores is not None:
        return _loaded(scores)
    if logits is None:
        raise BadScores(
            f"{folder} must have scores or logits (run inference.py and score.py of the reference "
            "code), has neither"
        )
    return _scaled(_loaded(logits), _loaded(labels), logits)


def _last(folder: Path) -> Path | None:
    """The file of the last epoch."""
    files = sorted(folder.glob("*.npy")) if folder.is_dir() else []
    return files[-1] if files else None


def _scaled(logits: Numbers, labels: Numbers, path: Path) -> Numbers:
    """Logits of the right label's probability for each augmentation, averaged over axis 1."""
    if logits.ndim != 4 or len(labels) < len(logits):
        raise BadScores(f"{path} must have shape (records, 1, augmentations, classes)")
    shifted = np.exp((logits - logits.max(axis=3, keepdims=True)).astype(np.float64))
    shares = shifted / shifted.sum(axis=3, keepdims=True)
    at = labels[: len(logits)].astype(np.intp)[:, None, None, None]
    right = np.take_along_axis(shares, at, axis=3)[..., 0]
    np.put_along_axis(shares, at, 0.0, axis=3)
    wrong = shares.sum(axis=3)
    return np.asarray(
        np.log(right.mean(axis=1) + _SMALLEST) - np.log(wrong.mean(axis=1) + _SMALLEST)
    )


def _privacy_meter(place: Path, mask_given: bool) -> dict[str, Any]:
    every = sorted(place.glob("signals/*_signals.npy"))
    files = [file for file in every if not file.name.endswith("_ramia_signals.npy")]
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise BadScores(f"{place}/signals must have one file *_signals.npy, has {names}: keep one")
    signals = _loaded(files[0])
    mask = mask_of(_loaded(place / "models" / "memberships.npy"))
    if signals.ndim != 2 or (not mask_given and signals.shape[1] > len(mask)):
        raise BadScores(f"{files[0]} must have one row a record and one column a model")
    if not mask_given and len(signals) != mask.shape[1]:
        raise BadScores(
            f"{files[0]} has signals of {len(signals):,} of {mask.shape[1]:,} records, and nothing "
            "says of which: give their mask as inclusion=, one row a model (run_audit_dp.py takes "
            f"the first {len(signals):,} columns of memberships.npy, run_mia.py some by chance)"
        )
    inside = mask[: signals.shape[1]]
    arguments = {"scores": signals.T, "outputs": Outputs.CONFIDENCE}
    population = files[0].with_name(files[0].name.replace("_signals.npy", "_signals_pop.npy"))
    if population.is_file():
        arguments[_POPULATION] = _loaded(population).T
    if mask_given:
        return arguments
    return arguments | {"inclusion": inside, "coins": _paired_coins(inside)}


def _paired_coins(inside: Mask) -> Coins:
    """Halves of one size for the first of each pair, unless run_audit_dp.py drew single coins."""
    first = inside[np.unique(first_of_each(inside, Coins.INDEPENDENT))]
    same = len(set(first.sum(axis=1).tolist())) == 1
    return Coins.FIXED_SIZE if same else Coins.INDEPENDENT


def privacy_guard(members: Any, non_members: Any, population: Any = None) -> dict[str, Any]:
    """The target model and its reference models, from PrivacyGuard's tables for RMIA."""
    sides = [
        _guarded(table, name)
        for table, name in ((members, "members"), (non_members, "non_members"))
    ]
    (scores, inside), (others, outside) = sides
    if len(scores) != len(others):
        _checks.refuse("non_members", f"have columns of {len(scores) - 1} models", len(others) - 1)
    inside[0], outside[0] = True, False
    arguments = {
        "scores": np.concatenate([scores, others], axis=1),
        "inclusion": np.concatenate([inside, outside], axis=1),
        "outputs": Outputs.CONFIDENCE,
        "coins": Coins.BALANCED,
    }
    if population is not None:
        arguments[_POPULATION] = _guarded(population, "population")[0]
    return arguments


def _guarded(table: Any, name: str) -> tuple[Numbers, Mask]:
    """Scores and coins, one row a model: the target first, whose coins the table itself tells."""
    scores = [np.asarray(columns.raw(table, "score_orig"))]
    coins = [np.zeros(scores[0].size, dtype=np.bool_)]
    while True:
        label = f"_ref_{len(scores) - 1}"
        try:
            scores.append(np.asarray(columns.raw(table, f"score{label}")))
        except NoColumn as missing:
            if len(scores) == 1:
                raise BadScores(
                    f"{name} must have columns score_ref_0, member_ref_0, ...: {missing}"
                ) from missing
            return np.array(scores), mask_of(np.array(coins))
        coins.append(np.asarray(columns.raw(table, f"member{label}")))
