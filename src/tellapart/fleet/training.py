"""Training a fleet of models by SGD or DP-SGD, chunk by chunk: the front door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.errors import Unsupported
from tellapart.fleet import _data
from tellapart.fleet.architectures import CNN, Architecture
from tellapart.fleet.canaries import Canaries
from tellapart.fleet.recipes import SGD, Recipe
from tellapart.fleet.trained import Fleet
from tellapart.run import checked_seed

Progress = Callable[[float], None]

# Models at once: as many as a core's cache likes, or as many as keep a GPU busy.
_CPU_BYTES, _ON_DEVICE = 11 * 2**20, 16_384
_SHARE_OF_FREE = 0.4
# How often rows are tried, each time longer, before all examples are taken.
_TRIES = 3
# Draws have 32 bits.
_LEAST_RATE = 2.0**-32


def train(
    architecture: Architecture,
    recipe: Recipe,
    X: ArrayLike,
    y: ArrayLike,
    inclusion: ArrayLike | None = None,
    *,
    seed: int | Sequence[int],
    models: int | range | None = None,
    device: str = "cpu",
    chunk: int | None = None,
    canaries: Canaries | None = None,
    start: dict[str, Any] | None = None,
    compiled: bool = False,
    progress: Progress | None = None,
) -> Fleet:
    """Many models trained at once, each on its own part of the data.

    ``inclusion`` says for each model and each row of X whether the row is in its training set;
    without it all rows are in all of ``models``. A range of models trains those alone, with the
    numbers they have in a larger fleet; ``inclusion`` then has a row for each of them. All random
    draws depend on the seed and on the model's number, not on ``chunk``, the models trained at
    once. On a CPU chunks run on as many threads as PyTorch is told of. ``start`` are the weights
    all models start from, as `Fleet.model` gives them; without it each has its own. ``compiled``
    fuses the draws by `torch.compile`. ``progress`` is told the share of the models done.

    >>> import numpy as np
    >>> from tellapart import fleet
    >>> recipe = fleet.SGD(steps=5, learning_rate=1.0, sampling_rate=1.0)
    >>> model, y = fleet.LogisticRegression(4, 2), [0, 1, 0, 1]
    >>> trained = fleet.train(model, recipe, np.eye(4), y, models=3, seed=1)
    >>> trained.scores(np.eye(4), [0, 1, 0, 1]).shape
    (3, 4)
    """
    from tellapart.fleet import _chunks
    from tellapart.fleet._torch import torch

    _checks.instance(Architecture, "Linear, MLP or CNN", architecture=architecture)
    _checks.instance(SGD, "SGD or DPSGD", recipe=recipe)
    inputs, targets = _data.examples(architecture, recipe.loss, X, y)
    numbers, inside = _data.models_of(models, inclusion, canaries, len(inputs))
    if start is not None:
        _data.check_start(architecture, start)
    if canaries is not None and canaries.gradients.shape[1] != architecture.parameters:
        rule = f"have a gradient for each of {architecture.parameters} weights"
        _checks.refuse("canaries", rule, canaries.gradients.shape)
    rate, batch = recipe.schedule(len(inputs))
    if rate < _LEAST_RATE:
        _checks.refuse("sampling_rate", f"be at least {short(_LEAST_RATE)}", rate)
    if progress is not None and not callable(progress):
        _checks.refuse("progress", "be callable", progress)
    where = _device(device)
    job = _chunks.Job(
        architecture=architecture,
        recipe=recipe,
        data=_chunks.Data.of(inputs, targets, where),
        rate=rate,
        batch=batch,
        first=numbers.start,
        inclusion=inside,
        canaries=canaries,
        start=start,
        seed=checked_seed(seed),
        device=where,
        compiled=compiled,
    )
    with torch.no_grad():
        return _trained(job, numbers, chunk, progress)


def _device(name: str) -> Any:
    from tellapart.fleet._torch import torch

    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        _checks.refuse("device", "be one of PyTorch's, such as 'cpu' or 'cuda'", name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise Unsupported(f"PyTorch finds no GPU for device {name!r}: use device='cpu'")
    return device


def _trained(job: Any, numbers: range, chunk: int | None, progress: Progress | None) -> Fleet:
    from tellapart.fleet._chunks import row_length
    from tellapart.fleet._torch import torch

    length = row_length(len(job.data.everyone), job.rate)
    at_once = _fitting(job, length) if chunk is None else _checks.whole(1, chunk=chunk)
    store = _Store(job, numbers)
    ids = np.arange(numbers.start, numbers.stop)
    parts = np.split(ids, range(at_once, ids.size, at_once))
    if job.device.type != "cpu":
        for done, part in enumerate(parts, start=1):
            store.train(part, length)
            if progress is not None:
                progress(done / len(parts))
        return store.fleet()
    # One thread for each chunk: products are too small to be shared, and stay the same bits.
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        with ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1)) as pool:
            work = pool.map(lambda part: store.train(part, length), parts)
            for done, _ in enumerate(work, start=1):
                if progress is not None:
                    progress(done / len(parts))
    finally:
        torch.set_num_threads(threads)
    return store.fleet()


def _fitting(job: Any, length: int) -> int:
    """How many models fit the memory, or the cache of a core."""
    from tellapart.fleet._torch import torch
    from tellapart.fleet.architectures import padded

    architecture, width = job.architecture, padded(job.architecture)
    values = sum(shape[0] for shape in architecture.shapes.values())
    each = 4 * (length * (architecture.width + 3 * values) + 8 * width)
    each += 24 * len(job.data.everyone)
    if isinstance(architecture, CNN):
        each += 3 * 4 * length * (width + architecture.width * max(architecture.channels))
    if job.canaries is not None and job.canaries.observed:
        each += 4 * job.recipe.steps * len(job.canaries.gradients)
    if job.device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(job.device)
        return int(max(1, min(_ON_DEVICE, int(_SHARE_OF_FREE * free) // each)))
    return int(max(1, _CPU_BYTES // each))


class _Home:
    """Brings weights from a GPU while the next chunk trains.

    Memory that is new to a program is slow to write to, and so are copies that cannot go on by
    themselves: both are got over with while the first chunk trains.
    """

    def __init__(self, weights: NDArray[np.float32]) -> None:
        self._weights = weights
        self._hand = ThreadPoolExecutor(1)
        self._hand.submit(weights.fill, 0.0)
        self._staged: Any = None
        self._last: Any = None

    def bring(self, weights: Any, rows: Any) -> None:
        """Copy them to their rows, in a while."""
        from tellapart.fleet._torch import torch

        if self._last is not None:
            self._last.result()
        if self._staged is None or self._staged.shape[0] < weights.shape[0]:
            self._staged = torch.empty(weights.shape, dtype=weights.dtype, pin_memory=True)
        staged = self._staged[: weights.shape[0]]
        staged.copy_(weights.contiguous(), non_blocking=True)
        here = torch.cuda.Event()
        here.record()

        def put() -> None:
            here.synchronize()
            self._weights[rows] = staged.numpy()

        self._last = self._hand.submit(put)

    def close(self) -> None:
        """Wait for what is on its way."""
        if self._last is not None:
            self._last.result()
        self._hand.shutdown()


class _Store:
    """Where chunks put what they have, in the order of the models."""

    def __init__(self, job: Any, numbers: range) -> None:
        self.job, self.numbers = job, numbers
        self.weights = np.empty((len(numbers), job.architecture.parameters), dtype=np.float32)
        self.home = None if job.device.type == "cpu" else _Home(self.weights)
        self.observed: NDArray[np.float32] | None = None
        self.released: NDArray[np.float32] | None = None
        if job.canaries is not None:
            shape = (len(numbers), job.recipe.steps, len(job.canaries.gradients))
            self.released = np.empty((shape[0], shape[2]), dtype=np.float32)
            if job.canaries.observed:
                self.observed = np.empty(shape, dtype=np.float32)

    def train(self, part: Any, length: int) -> None:
        """Train a chunk; those whose samples found no room again, with longer rows."""
        from tellapart.fleet._chunks import row_length, train_chunk
        from tellapart.fleet._torch import torch

        examples = len(self.job.data.everyone)
        with torch.no_grad():
            tries = 0
            while part.size:
                trained = train_chunk(self.job, part, length)
                self._put(part, trained)
                part, tries = part[trained.late.cpu().numpy()], tries + 1
                longer = row_length(examples, self.job.rate, tries)
                length = longer if tries < _TRIES else examples

    def _put(self, part: Any, trained: Any) -> None:
        rows: Any = part - self.numbers.start
        if rows[-1] - rows[0] == rows.size - 1:  # a slice is copied faster
            rows = slice(int(rows[0]), int(rows[-1]) + 1)
        weights = trained.weights[:, : self.weights.shape[1]]
        if self.home is None:
            self.weights[rows] = weights.cpu().numpy()
        else:
            self.home.bring(weights, rows)
        if self.released is not None:
            self.released[rows] = trained.released.cpu().numpy()
        if self.observed is not None:
            self.observed[rows] = trained.observed.cpu().numpy()

    def fleet(self) -> Fleet:
        """All of it as a fleet."""
        job = self.job
        if self.home is not None:
            self.home.close()
        return Fleet(
            job.architecture,
            job.recipe,
            self.weights,
            self.observed,
            self.released,
            str(job.device),
        )
