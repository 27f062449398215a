"""Gradient canaries: neighbouring gradients under which known mistakes of DP-SGD show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from tellapart._checks import Array
from tellapart._numeric.text import short

# How many times the clipping norm a long gradient has; mates must outweigh all others by far.
_LONG = 10.0


@dataclass(frozen=True, eq=False)
class StepPair:
    """Two lists of gradients, one row a record, that differ in one record: the canary.

    ``direction`` is the unit vector along which an attacker looks; ``hint`` is what usually is
    wrong where only this pair, of all those before it, tells the two apart.
    """

    name: str
    words: str
    hint: str
    absent: Array
    present: Array
    direction: Array

    def moves(self, clip: float) -> bool:
        """Whether the record moves the sum of clipped gradients, and so what a step releases."""
        return not np.array_equal(_clipped_sum(self.absent, clip), _clipped_sum(self.present, clip))


def _clipped_sum(gradients: Array, clip: float) -> Array:
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return np.asarray((gradients * np.minimum(1.0, clip / np.maximum(norms, 1e-300))).sum(axis=0))


@dataclass(frozen=True)
class StepSetting:
    """What everybody knows of a step: its layers, its clipping norm, and the records beside."""

    layers: tuple[int, ...]
    clip: float
    records: int
    public_size: bool
    nan: bool

    @property
    def dimension(self) -> int:
        """How many coordinates a gradient has."""
        return sum(self.layers)

    def axis(self) -> Array:
        """The unit vector along the first coordinate."""
        return np.asarray(np.eye(1, self.dimension)[0])


def family(setting: StepSetting) -> tuple[StepPair, ...]:
    """Every pair worth trying; each shows what no pair before it would."""
    pairs = [] if setting.public_size else [_zeros(setting)]
    pairs += [_at_clip(setting), _long(setting)]
    if len(setting.layers) > 1:
        pairs.append(_layers(setting))
    pairs.append(_mates(setting))
    if setting.nan:
        pairs.append(_nan(setting))
    return tuple(pairs)


def most_telling_first(pairs: Sequence[StepPair], clip: float) -> list[int]:
    """The places of pairs, long canaries first: they show what one at the clip does, and more."""
    norms = [np.nan_to_num(np.linalg.norm(pair.present[-1]), nan=0.0) for pair in pairs]
    return sorted(range(len(pairs)), key=lambda place: -min(norms[place], 2 * clip))


def _pair(
    setting: StepSetting,
    words: tuple[str, str, str],
    others: Array,
    canary: Array,
    direction: Array,
) -> StepPair:
    """One record more; or, where the number of records is public, one in the place of nothing."""
    without = np.vstack([others, np.zeros_like(canary)]) if setting.public_size else others
    return StepPair(*words, without, np.vstack([others, canary]), direction)


def _nothing(setting: StepSetting, records: int) -> Array:
    return np.zeros((records, setting.dimension))


def _at_clip(setting: StepSetting) -> StepPair:
    words = (
        "canary at the clip",
        "one gradient as long as the clipping norm, in one coordinate; all others are zero",
        "too little noise (scaled by another batch size, by the workers, or not by the clip), "
        "noise used twice, gradients never cleared, or batches not drawn as claimed",
    )
    axis = setting.axis()
    return _pair(setting, words, _nothing(setting, setting.records - 1), setting.clip * axis, axis)


def _long(setting: StepSetting) -> StepPair:
    words = (
        "long canary",
        f"one gradient of {short(_LONG)} clipping norms, in one coordinate; all others are zero",
        "no clipping, clipping after averaging, clipping to another norm, or a mean of the batch "
        "that is taken off before clipping",
    )
    axis = setting.axis()
    others = _nothing(setting, setting.records - 1)
    return _pair(setting, words, others, _LONG * setting.clip * axis, axis)


def _layers(setting: StepSetting) -> StepPair:
    words = (
        "canary in every layer",
        f"one gradient of {short(_LONG)} clipping norms in each layer; all others are zero",
        "every layer clipped to the whole norm, or a layer that is not clipped",
    )
    canary = np.zeros(setting.dimension)
    canary[[0, *accumulate(setting.layers[:-1])]] = _LONG * setting.clip
    direction = canary / np.linalg.norm(canary)
    return _pair(setting, words, _nothing(setting, setting.records - 1), canary, direction)


def _mates(setting: StepSetting) -> StepPair:
    words = (
        "canary against its mates",
        "one very long gradient against the direction of all others, which are long",
        "means or sums of several gradients clipped together: micro-batches, or accumulation "
        "with one clipping at the end",
    )
    axis = setting.axis()
    others = np.tile(_LONG * setting.clip * axis, (setting.records - 1, 1))
    canary = -(_LONG**2) * setting.records * setting.clip * axis
    return _pair(setting, words, others, canary, -axis)


def _zeros(setting: StepSetting) -> StepPair:
    return StepPair(
        "one record or two",
        "all gradients are zero, and there are two records in place of one",
        "sum and noise divided by the number of records, which is secret",
        _nothing(setting, 1),
        _nothing(setting, 2),
        setting.axis(),
    )


def _nan(setting: StepSetting) -> StepPair:
    words = (
        "canary that is not a number",
        "one gradient with a NaN in one coordinate; all others are zero",
        "NaN passes through clipping",
    )
    axis = setting.axis()
    canary = np.where(axis > 0, np.nan, 0.0)
    return _pair(setting, words, _nothing(setting, setting.records - 1), canary, axis)
