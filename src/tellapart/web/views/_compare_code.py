"""A comparison as Python and as a command that say the same."""

from __future__ import annotations

import shlex

from tellapart.web.views._compare_state import State


def python(state: State) -> str:
    """The comparison by the library, with all that the page tells of it."""
    named_ones = "".join(f"    {text!r}: named({text!r}),\n" for text in _texts(state))
    deployed = "".join(
        f"    {one.name!r}: deployments.find({one.key!r})[0].curve(),\n"
        for one in dict.fromkeys(state.deployments.values())
    )
    imports = "choose, deployments" if deployed else "choose"
    also = "from tellapart.mechanisms.named import named\n" if named_ones else ""
    return f"""\
from tellapart import {imports}
{also}
found = choose.compare(
    {{
{_indented(named_ones + deployed)}    }},
    prior={state.prior!r},
    fpr={state.fpr!r},
    delta={state.at_delta!r},
)
print(found)
for row in found.gaps():
    print(*row, sep="  ")
"""


def _texts(state: State) -> list[str]:
    return list(dict.fromkeys(state.mechanisms.values()))


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def command(state: State) -> str:
    """The command that compares the same."""
    texts = [shlex.quote(text) for text in _texts(state)]
    about = f"--prior {state.prior!r} --fpr {state.fpr!r}"
    start = " ".join(["tellapart compare", *texts, about])
    keys = list(dict.fromkeys(one.key for one in state.deployments.values()))
    if not keys:
        return f"{start} --delta {state.at_delta!r}"
    return f"{start} --deployments {' '.join(keys)}"
