"""Untrusted code in a process of its own: whatever ends it, this one goes on and says so.

Code that is named on the command line may leave by ``os._exit``, crash, or raise what nobody
catches. Were it to run here, its exit code would be taken for a verdict.
"""

from __future__ import annotations

import faulthandler
import importlib
import io
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from tellapart import deadline, run
from tellapart._checks import refuse
from tellapart.audit.probing.calling import child, program
from tellapart.cli.errors import Unexpected
from tellapart.cli.process import limits
from tellapart.errors import InvalidArgument, TellapartError, Unsupported

T = TypeVar("T")
# Told how far the task is: the share of it, or what it does now.
Say = Callable[[float | str], None]
Task = Callable[[Say], T]

# Starting anew takes seconds; elsewhere than on Linux a copy is not safe to go on with.
_CONTEXT: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
# How often it is asked whether the process is still there, in seconds.
_TURN = 0.5
# What an answer may be made of: nothing that would load the task's own code here.
_KNOWN = ("tellapart", "numpy")
_PLAIN = {"bool", "complex", "float", "frozenset", "int", "list", "range", "set", "slice", "tuple"}
# What is told of where code ended its process.
IMPORTED = "when it was imported"
CALLED = "when it was called"
# Errors that have words of their own, and a code, wherever they were raised.
_FORESEEN = (TellapartError, OSError, MemoryError)


class _Traceback(Exception):
    """Where an error was raised, in another process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def call(task: Task[T], doing: str, progress: run.Progress) -> T:
    """What the task gives, made in a process that ends with it; its errors are raised here.

    ``doing`` is what it does at first. A task that says so later is told to be at that when it
    ends without an answer.
    """
    heard, spoken = _CONTEXT.Pipe(duplex=False)
    worker = _CONTEXT.Process(target=_work, args=(os.getpid(), spoken, task, deadline.budget()))
    # Python 3.12 warns of copies of processes with threads; ours wait, and hold nothing.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        worker.start()
    spoken.close()
    try:
        return _answer(heard, worker, doing, progress)  # type: ignore[no-any-return]
    finally:
        _end(worker)
        heard.close()


def _answer(heard: Connection, worker: Any, doing: str, progress: run.Progress) -> Any:
    while (message := _next(heard, worker)) is not None:
        kind, content, where = message
        if kind == "answer":
            return content
        if kind == "share":
            progress(content)
        elif kind == "doing":
            doing = content
        elif kind == "error":
            raise _raised(*content) from _Traceback(where)
        else:
            raise Unexpected(content) from _Traceback(where)
    worker.join(_TURN)
    raise Unsupported(
        f"no verdict: {doing}, the code ended its own process ({_how(worker.exitcode)})"
    )


def _next(heard: Connection, worker: Any) -> tuple[str, Any, str] | None:
    """The next message; None once there can be none, be the pipe held open or not."""
    try:
        while not heard.poll(min(_TURN, deadline.left())):
            deadline.check()
            if worker.exitcode is not None and not heard.poll(0):
                return None
        return _Answers(io.BytesIO(heard.recv_bytes())).load()  # type: ignore[no-any-return]
    except (EOFError, OSError, pickle.UnpicklingError):
        return None


def _raised(module: str, name: str, args: tuple[Any, ...]) -> Exception:
    """The error that a process told of; one of no foreseen kind is a bug, by its name."""
    ours = module == "builtins" or module.partition(".")[0] == "tellapart"
    kind = getattr(sys.modules.get(module), name, None) if ours else None
    if not (isinstance(kind, type) and issubclass(kind, _FORESEEN)):
        return Unexpected(f"{name}: {' '.join(map(str, args))}")
    if issubclass(kind, OSError):
        return kind(*args)
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class _Answers(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] in _KNOWN or (module == "builtins" and name in _PLAIN):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an answer")


def _how(code: int | None) -> str:
    if code is None:
        return "it answers no more"
    if code >= 0:
        return f"exit code {code}"
    named = {int(number): number.name for number in signal.Signals}
    return f"signal {named.get(-code, -code)}"


def end_all() -> None:
    """For who leaves at once, without coming by where each would be ended."""
    for worker in multiprocessing.active_children():
        _end(worker)


limits.end_with(end_all, program.end_all)


def _end(worker: Any) -> None:
    """With all that it started and that did not leave its group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, signal.SIGKILL)
    worker.kill()
    worker.join()


# -- in the process ------------------------------------------------------------------------------


def _work(parent: int, spoken: Connection, task: Task[Any], budget: tuple[float, float]) -> None:
    home = os.getpid()
    _leave_the_terminal()
    threading.Thread(target=child.end_with, args=(parent,), daemon=True).start()

    def send(kind: str, content: Any, where: str = "") -> None:
        if os.getpid() == home:  # a copy that the task made of itself has no say
            spoken.send_bytes(pickle.dumps((kind, content, where)))

    def say(what: float | str) -> None:
        send("doing" if isinstance(what, str) else "share", what)

    try:
        with deadline.within(*budget):
            send("answer", task(say))
    except _FORESEEN as error:
        send("error", _error_record(error), traceback.format_exc())
    except Exception as error:  # noqa: BLE001 (whatever it is, who waits is told)
        send("unexpected", f"{type(error).__name__}: {error}", traceback.format_exc())
    except BaseException as error:  # noqa: BLE001 (no Exception, so no output of a call: see `caller`)
        said = f"no verdict: the code raised {type(error).__name__}, which no caller can catch"
        send("error", _error_record(Unsupported(said)), traceback.format_exc())
    finally:
        os._exit(0)


def _error_record(error: BaseException) -> tuple[str, str, tuple[Any, ...]]:
    """An error by its kind and words: how it would be pickled is for other libraries to change."""
    args = error.args
    if isinstance(error, OSError) and error.errno is not None:
        args = (error.errno, error.strerror, error.filename)
    plain = tuple(arg if isinstance(arg, str | int | float | None) else str(arg) for arg in args)
    return type(error).__module__, type(error).__qualname__, plain


def _leave_the_terminal() -> None:
    """Ctrl-C is for who waits, as is any complaint; what is printed here goes nowhere."""
    faulthandler.disable()
    if hasattr(os, "setsid"):
        os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    nowhere = open(os.devnull, "r+")  # noqa: SIM115 (for as long as the process lives)
    for place in (0, 1):
        os.dup2(nowhere.fileno(), place)
    sys.stdin = sys.stdout = nowhere


# -- code by its name ----------------------------------------------------------------------------

_HOW = "be named as package.module:function or path/to/file.py:function"


def load_function(name: str) -> Callable[..., Any]:
    """A function by its name; it and all that its module needs are loaded into this process."""
    place, colon, path = name.rpartition(":")
    if not colon or not place or not path:
        refuse("function", _HOW, name)
    is_file = place.endswith(".py")
    folder, module = (
        (Path(place).parent.resolve(), Path(place).stem) if is_file else (Path.cwd(), place)
    )
    if is_file and not Path(place).is_file():
        refuse("function", "be in a file that is there", place)
    sys.path.insert(0, str(folder))
    loaded = _imported(module)
    if is_file and not _is_of(loaded, Path(place)):
        refuse("function", f"be in a file not named as a module, as {module} is", place)
    return _inside(loaded, path)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and name.startswith(f"{error.name}"):
            raise InvalidArgument(
                f"function must be in a module that can be found, got {name!r}: no module named "
                f"{error.name!r} is installed, or in {Path.cwd()}"
            ) from error
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, SystemExit):
            ended = f"{IMPORTED}, the code ended its own process ({said})"
            raise Unsupported(f"no verdict: {ended}") from error
        raise InvalidArgument(
            f"function must be in a module that can be imported; {name} raised {said} "
            "(--debug shows where)"
        ) from error


def _is_of(module: ModuleType, file: Path) -> bool:
    known = getattr(module, "__file__", None)
    return known is not None and Path(known).exists() and file.samefile(known)


def _inside(module: ModuleType, path: str) -> Callable[..., Any]:
    target: Any = module
    for step in path.split("."):
        if not hasattr(target, step):
            refuse("function", f"be in {module.__name__}, which has {_names(module)}", path)
        target = getattr(target, step)
    if not callable(target):
        refuse("function", f"be callable; {module.__name__}:{path} is not", target)
    return target  # type: ignore[no-any-return]


def _names(module: ModuleType) -> str:
    """The functions that are the module's own."""
    own = [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    ]
    return ", ".join(own[:8]) + (", ..." if len(own) > 8 else "") if own else "no functions"
