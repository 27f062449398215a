"""The cards of docs/notebooks.md: run this after a change of what objects show in a notebook."""

import re
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("training", "choose.least", "compared", "verdict")


def cards() -> str:
    """What the first block of the page shows, one card for each line that is only an object."""
    page = (HERE / "notebooks.md").read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    shown = []
    for line in re.findall(r"```python\n(.*?)```", page, re.S)[0].splitlines():
        if line.startswith(NAMES) and " = " not in line:
            shown.append(eval(line, namespace)._repr_html_())  # noqa: S307 (our own page)
        else:
            exec(line, namespace)  # noqa: S102 (our own page)
    return "".join(f'<div style="margin-bottom:1em">{card}</div>\n' for card in shown)


if __name__ == "__main__":
    (HERE / "notebooks.html").write_text(cards(), encoding="utf-8")
