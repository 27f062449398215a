"""A bar that shows how many models were begun, and how long each takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tellapart import run


@contextmanager
def shown(progress: run.Progress | bool, models: int) -> Iterator[run.Progress | None]:
    """The function that is told of progress: the given one, that of a bar, or none."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), Remaining())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("models", total=models)
        started, first = time.perf_counter(), [0.0]

        def tell(share: float) -> None:
            done = share * models
            first[0] = first[0] or done  # what was kept already took no time
            each = (time.perf_counter() - started) / max(done - first[0], 1)
            words = "models" if done - first[0] < 1 else f"models, {each:.3g} s each"
            bar.update(task, completed=round(done), description=words)

        yield tell
