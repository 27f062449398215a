"""Error messages: the argument, the rule, the value, and what to type next, on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import get_args

from cyclopts import CoercionError, CycloptsError, MissingArgumentError, ValidationError
from cyclopts import UnknownCommandError as UnknownCommand
from cyclopts.exceptions import RepeatArgumentError, UnknownOptionError, UnusedCliTokensError

from tellapart._numeric.text import short
from tellapart.cli.process import exits
from tellapart.errors import visible

# What people try first, and the command that does it.
_GUESSED = {
    "calibrate": "choose",
    "explain": "risk",
    "open": "explore",
    "page": "explore",
    "host": "serve",
    "test": "probe",
    "ui": "explore",
    "version": "--version",
    "web": "explore",
    "worlds": "frameworks",
}
_LETTERS = {"ε": "epsilon", "δ": "delta", "σ": "sigma", "μ": "mu", "γ": "gamma"}
# What takes a value here, by the options that people try.
_WITH_A_VALUE = {
    "higher-is-member": "--orientation higher",
    "loss": "--orientation lower",
    "losses": "--orientation lower",
    "lower": "--orientation lower",
    "lower-is-member": "--orientation lower",
}
# What is part of a mechanism's text, by the options that people try.
_IN_TEXT = {
    "--repeat": "repeated=12",
    "--repeated": "repeated=12",
    "--releases": "repeated=12",
    "--compositions": "repeated=12",
    "--sampled": "sampled=0.01",
}
# Commands that take mechanisms as texts alone.
_OF_TEXTS = ("compare", "budget spend", "budget left")
_ARGUMENT = re.compile(r"^\w+(?= must )")
# Parameters that a mechanism lacks, or has one too many of: names and what joins them, no more.
_LACKING = re.compile(
    r"(?<=^mechanism must have )[^,]+(?:, too; \w+ is then chosen|, too|, not both)"
)
_BUG = (
    "this is a bug in tellapart, not in what was typed; please open an issue that holds the "
    "command and what it prints with --debug"
)


class Unexpected(Exception):
    """An error in another process that nobody foresaw, by its name and its words."""


def line(error: BaseException, commands: Sequence[str], typed: Sequence[str]) -> str:
    """What is wrong, on one line, with where to look next."""
    code = exits.code_of(error)
    if code is exits.Exit.BUG:
        said = f"{_BUG} ({_named(error)})"
    elif code in exits.ENDED:
        said = exits.ENDED[code]
    elif isinstance(error, MemoryError):
        said = "this needs more memory than there is: ask for less"
    elif isinstance(error, OSError) and error.strerror:
        said = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    elif isinstance(error, ValidationError):
        said = error.exception_message
    elif isinstance(error, CycloptsError):
        command = " ".join(["tellapart", *(error.command_chain or ())])
        said = f"{_misuse(error, commands, command, typed)} (see {command} --help)"
    else:
        said = _ARGUMENT.sub(lambda match: _as_typed(match[0], typed), str(error))
        said = _LACKING.sub(lambda match: _as_options(match[0], typed), said)
    return visible(f"tellapart: {' '.join(said.split())}")


def _named(error: BaseException) -> str:
    """An unforeseen error by its kind and words, also where it comes from another process."""
    return str(error) if isinstance(error, Unexpected) else f"{type(error).__name__}: {error}"


def _as_typed(name: str, typed: Sequence[str]) -> str:
    """An argument by the name of its option, if that was given."""
    option = f"--{name.replace('_', '-')}"
    return option if any(word.partition("=")[0] == option for word in typed) else name


def _as_options(rule: str, typed: Sequence[str]) -> str:
    """Parameters by the names of their options, unless mechanisms were typed with theirs."""
    from tellapart.mechanisms.catalogue import KINDS  # help and errors of others start without it

    if "compare" in typed[:1] or any(
        word.partition(":")[0] in KINDS and ":" in word for word in typed
    ):
        return rule
    keys = {key for kind in KINDS.values() for key in kind.parameters}
    option = {key: f"--{key.replace('_', '-')}" for key in keys}
    return re.sub(r"\w+", lambda match: option.get(match[0], match[0]), rule)


def _with(written: str, typed: Sequence[str]) -> str:
    """The mechanism that was typed, or else an example, with this in it."""
    from tellapart.mechanisms.catalogue import KINDS

    named = next(
        (word for word in typed[1:] if word.partition(":")[0] in KINDS), "gaussian:sigma=2"
    )
    return f"{named}{',' if ':' in named else ':'}{written}"


def _misuse(
    error: CycloptsError, commands: Sequence[str], command: str, typed: Sequence[str]
) -> str:
    if isinstance(error, UnknownCommand):
        word = str((error.unused_tokens or [""])[0])
        if error.command_chain:  # such as `budget`, which has commands of its own
            inside = [name for name in error.app or () if not name.startswith("-")]
            return _no_command(word, inside, _short(command))
        return _no_command(word, commands)
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        known = (name for argument in error.argument_collection for name in argument.names)
        said = f"{_short(command)} has no option {option}"
        if (written := _IN_TEXT.get(option.partition("=")[0])) is not None:
            return f"{said}; write it into the mechanism: {_with(written, typed)}"
        if _short(command) in _OF_TEXTS and (example := _of_mechanism(option)):
            which = "each" if _short(command) == "compare" else "the"
            return f"{said}; write it into {which} mechanism, such as {example}"
        return f"{said}{_perhaps(_near_option(option, known))}"
    if isinstance(error, UnusedCliTokensError):
        extra = (error.unused_tokens or [""])[0]
        return f"{_short(command)} must be given no more arguments, got {extra!r}"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} must be given once"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        used = error.keyword or next((token.keyword for token in error.argument.tokens), None)
        if used:
            return f"{used} must be followed by a value"
        return f"{error.argument.name} must be given, as in: {_example(error)}"
    if isinstance(error, CoercionError) and error.token:
        for kind in (int, float):
            if kind in (error.target_type, *get_args(error.target_type)):
                return _no_number(error.token.keyword or "argument", error.token.value, kind)
    return str(error)


def _of_mechanism(option: str) -> str:
    """A mechanism with the parameter that an option was to be; empty where none has it."""
    key = option.partition("=")[0].lstrip("-").replace("-", "_")
    from tellapart.mechanisms.catalogue import KINDS  # help and errors of others start without it

    named = (kind for kind in KINDS.values() if kind.name != "any" and key in kind.parameters)
    return next((f"{kind.name}:{key}=1" for kind in named), "")


def _short(command: str) -> str:
    return command.removeprefix("tellapart ")


def _example(error: CycloptsError) -> str:
    """The first example in the command's help, which takes one line wherever one is required."""
    help_text = getattr(error.target, "__doc__", None) or ""
    example = re.search(r"^ +(tellapart .+)$", help_text, re.M)
    return example[1] if example else "tellapart --help"


def _no_command(word: str, commands: Sequence[str], of: str = "") -> str:
    near = get_close_matches(word, commands, n=1, cutoff=0.7)
    guess = (None if of else _GUESSED.get(word)) or (near[0] if near else None)
    name = f"the command of {of}" if of else "command"
    return f"{name} must be one of {', '.join(commands)}, got {word!r}{_perhaps(guess)}"


def _near_option(option: str, known: Iterable[str]) -> str | None:
    """What was begun, or else what is spelt most like it."""
    word = option.partition("=")[0].lstrip("-")
    word = _LETTERS.get(word, word)
    options = [name for name in known if name.startswith("--")]
    if _WITH_A_VALUE.get(word, "").partition(" ")[0] in options:
        return _WITH_A_VALUE[word]
    begun = [name for name in options if word and name.startswith(f"--{word}")]
    # Without the dashes, in which all are alike.
    near = get_close_matches(word, [name[2:] for name in options], n=1)
    return next(iter(begun or [f"--{name}" for name in near]), None)


def _perhaps(guess: str | None) -> str:
    return f"; did you mean {guess}?" if guess else ""


def _no_number(name: str, value: str, kind: type) -> str:
    rule = "a whole number" if kind is int else "a number"
    share = re.fullmatch(r"([\d.]*\d)\s*%", value)
    ratio = re.fullmatch(r"([\d.]*\d)/([\d.]*[1-9]\d*)", value)
    instead = ""
    if kind is float and share:
        instead = f"; write {short(float(share[1]) / 100)}"
    elif kind is float and ratio:
        instead = f"; write {short(float(ratio[1]) / float(ratio[2]))}"
    return f"{name} must be {rule}, got {value!r}{instead}"
