"""Write the table of published deployments into its page: `make picture`."""

from __future__ import annotations

from pathlib import Path

from tellapart import deployments

PAGE = Path(__file__).with_name("deployments.md")
HEADING = "## All of them\n"
HEAD = ("deployment", "curator", "unit", "claim", "model", "advantage", "TPR at FPR 1 %", "entry")


def table() -> str:
    """Every claim, from the least that it allows an attacker to the most."""
    lines = [HEAD, ("---",) * len(HEAD)]
    for gain in deployments.gains():
        deployment = gain.deployment
        if deployment is not None:
            risks = [reading.shown for reading in gain.readings[:2]]
            said = (
                deployment.name,
                f"{deployment.curator} {deployment.published[:4]}",
                deployment.per,
                deployment.promise,
            )
            lines.append((*said, deployment.model.lower(), *risks, f"`{deployment.key}`"))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page() -> str:
    """The page with the table that the library has now."""
    text, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    words = (
        "Written by `make picture` (`docs/published.py`). Each number is the most that the claim "
        "allows over one unit, and units differ: a user-day is not a user. The last column is the "
        "entry in OpenDP's deployments registry."
    )
    return f"{text}{HEADING}\n{words}\n\n{table()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
