"""The tables of a description, and messages that name table and key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tellapart import _checks
from tellapart.errors import InvalidArgument


@dataclass(frozen=True)
class Keys:
    """One table of a description: its name, and what stands under each of its keys."""

    name: str
    entries: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, given: Any) -> Keys:
        """The table, where it is one."""
        if not isinstance(given, Mapping):
            _checks.refuse(name, f"be a table, [{name}] with keys below it", given)
        return cls(name, given)

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def get(self, key: str, default: Any = None) -> Any:
        """What stands under a key, whatever it is."""
        return self.entries.get(key, default)

    def expect(self, what: str, needed: Mapping[str, str], others: Sequence[str] = ()) -> None:
        """Refuse keys that are missing, with an example of each, and those nobody knows."""
        known = [*needed, *others]
        for key, value in self.entries.items():
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                meant = f"did you mean {close[0]}?" if close else f"{what} has {', '.join(known)}"
                _checks.refuse(f"{self.name}.{key}", f"be a key of {what} ({meant})", value)
        for key, example in needed.items():
            if key not in self.entries:
                raise InvalidArgument(
                    f"{self.name}.{key} must be given for {what}, such as {example}"
                )

    def choice(self, key: str, options: Sequence[str]) -> str:
        """One of a few words."""
        listed = ", ".join(f'"{option}"' for option in options)
        if key not in self.entries:
            raise InvalidArgument(f"{self.name}.{key} must be given, one of {listed}")
        value = self.entries[key]
        if not isinstance(value, str) or value not in options:
            _checks.refuse(f"{self.name}.{key}", f"be one of {listed}", value)
        return value

    def text(self, key: str) -> str | None:
        """A text, or None where there is none."""
        return self._as(str, "a text", key)  # type: ignore[no-any-return]

    def flag(self, key: str) -> bool | None:
        """True or false, or None where neither is said."""
        return self._as(bool, "true or false", key)  # type: ignore[no-any-return]

    def listed(self, key: str) -> list[Any] | None:
        """A list, or None where there is none."""
        return self._as(list, "a list", key)  # type: ignore[no-any-return]

    def tables(self, key: str) -> list[Keys]:
        """A list of tables, one for each [[name.key]]."""
        items = self.listed(key) or []
        return [Keys.of(f"{self.name}.{key}[{i}]", item) for i, item in enumerate(items)]

    def _as(self, kind: type, rule: str, key: str) -> Any:
        value = self.entries.get(key)
        if value is not None:
            _checks.instance(kind, rule, **{f"{self.name}.{key}": value})
        return value

    @contextmanager
    def naming(self, **called: str) -> Iterator[None]:
        """Errors inside name the table; ``called`` has keys for arguments of another name."""
        try:
            yield
        except InvalidArgument as error:
            said = str(error)
            if said.startswith(f"{self.name}."):  # named already
                raise
            start = re.match(r"\w*", said)
            argument = start.group() if start else ""
            key = called.get(argument, argument)
            known = key in self.entries or argument in called
            rest = said[len(argument) :]
            shown = f"{self.name}.{key}{rest}" if known else f"[{self.name}] {said}"
            raise InvalidArgument(shown) from error
