"""A page as a person sees it: what it shows, and how it is known to have answered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page

# All that was asked is shown: controls, picture and URL (html), and the answer beside them.
ANSWERED = """() => {
  const html = document.documentElement.dataset, head = document.querySelector("#answer .headline");
  return html.asked && html.asked === html.shown && html.shown === html.kept
    && head && head.dataset.number === html.shown;
}"""
FOCUSED = "() => document.activeElement && document.activeElement.id"


@dataclass
class Screen:
    """One visitor's page; what went wrong on it is kept for the end of the test."""

    page: Page
    address: str
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> Screen:
        self.page.goto(self.address + path.lstrip("/"))
        return self.settle()

    def settle(self) -> Screen:
        self.page.wait_for_function(ANSWERED)
        return self

    # -- what is shown

    @property
    def url(self) -> str:
        """Path and query."""
        return "/" + self.page.url.removeprefix(self.address)

    @property
    def headline(self) -> str:
        return self.page.inner_text("#answer .headline h2")

    @property
    def said(self) -> str:
        """All of the answer, but what can be taken along."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll("#answer > :not(.take)")]
                     .map((one) => one.innerText).join("\\n")"""
        )

    @property
    def rows(self) -> list[list[str]]:
        """The cells of every table of the answer."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll("#answer tbody tr")]
                     .map((row) => [...row.cells].map((cell) => cell.textContent))"""
        )

    @property
    def sentences(self) -> list[str]:
        return self.page.locator("#answer > section:not(.take) p").all_inner_texts()

    @property
    def lines(self) -> dict[str, str]:
        """Each line of the picture, by its place: the path that draws it."""
        return self.page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll("#picture path.trace")]
                     .map((one, k) => [k, one.getAttribute("d")]))"""
        )

    @property
    def set_to(self) -> dict[str, str]:
        """What every control holds; of a slider, what is read out."""
        return self.page.evaluate(
            """() => {
              const found = {}, all = "#controls input:not([type=file]), #controls select";
              for (const one of document.querySelectorAll(all)) {
                found[one.id] = one.type === "checkbox" ? one.checked
                  : one.type === "range" ? one.getAttribute("aria-valuetext") : one.value;
              }
              const chosen = document.querySelectorAll("#switches input:checked");
              for (const one of chosen) found[one.name] = one.value;
              return found;
            }"""
        )

    @property
    def everything(self) -> tuple[object, ...]:
        """What must come back when the URL is opened again."""
        return self.headline, self.said, self.set_to, self.lines

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        return self.page.evaluate(
            """() => document.documentElement.scrollWidth - document.documentElement.clientWidth"""
        )

    def code(self, label: str) -> str:
        return self.page.locator("button[data-copies]", has_text=label).get_attribute("data-copies")

    # -- what a person does

    def number(self, name: str) -> Locator:
        """The exact value of a dial."""
        return self.page.locator(f'[data-field="{name}"] input[type="number"]')

    def slider(self, name: str) -> Locator:
        return self.page.locator(f'[data-field="{name}"] input[type="range"]')

    def tab_to(self, wanted: str, most: int = 80) -> str:
        """Press Tab until the focus is on what matches a selector; give its id."""
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("(css) => document.activeElement.matches(css)", wanted):
                return self.page.evaluate(FOCUSED)
        raise AssertionError(f"no Tab of {most} leads to {wanted}")


def plain(text: str) -> str:
    """Text without its line breaks and boxes, as one line."""
    return re.sub(r"[\s│┃╭╮╰╯─━]+", " ", text)


NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?: ?%)?", re.I)


def numbers(text: str) -> list[tuple[str, float, float]]:
    """Every number of a text: how it is written, what it is, and what its last digit is worth."""
    found = []
    for written in NUMBER.findall(text):
        digits, _, power = written.rstrip(" %").replace(",", "").replace("−", "-").partition("e")
        decimals = len(digits.partition(".")[2])
        size = 10.0 ** (int(power or 0) - (2 if written.endswith("%") else 0))
        worth = size * 10.0**-decimals if decimals or power else 0.0
        found.append((written, float(digits) * size, worth))
    return found


def unsaid(shown: list[str], printed: str) -> list[str]:
    """The numbers shown that are not printed, to the digits that are shown.

    What is shown may be rounded up or down, whichever does not flatter.
    """
    known = [value for _, value, _ in numbers(printed)]
    return [
        written
        for cell in shown
        for written, value, worth in numbers(cell)
        if not any(abs(one - value) <= worth + 1e-9 * abs(value) for one in known)
    ]
