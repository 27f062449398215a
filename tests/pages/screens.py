"""A page as a person sees it: what it shows, and how it is known to have answered.

What is read is read by `evaluate` alone, which a page of Firefox has too (`bidi`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bidi import FirefoxPage
from playwright.sync_api import Locator, Page

# All that was asked is shown: controls, picture, answer and URL.
ANSWERED = """() => {
  // Between two documents there is none.
  const html = document.documentElement?.dataset ?? {};
  return html.asked && html.asked === html.shown && html.shown === html.kept;
}"""
# A text of the page without some of its parts.
WITHOUT = """([css, left_out]) => {
  const copy = document.querySelector(css).cloneNode(true);
  for (const one of copy.querySelectorAll(left_out)) one.remove();
  return copy.textContent;
}"""
FOCUSED = "() => document.activeElement && document.activeElement.id"
BOTTOM = """(css) => Math.max(...[...document.querySelectorAll(css)]
  .map((one) => one.getBoundingClientRect().bottom))"""
TEXTS = "(css) => [...document.querySelectorAll(css)].map((one) => one.innerText)"


@dataclass
class Screen:
    """One visitor's page; what went wrong on it is kept for the end of the test."""

    page: Page | FirefoxPage
    address: str
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def open(self, path: str = "/explore") -> Screen:
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
        """The sentence, without its baseline."""
        return self.page.evaluate(WITHOUT, ["#answer h1", ".aside"]).strip()

    @property
    def said(self) -> str:
        """All of the answer, but what can be taken along, and where a pointer reads."""
        return self.page.evaluate(WITHOUT, ["#answer", ".take, .codes, .plot, .next, .astable"])

    @property
    def rows(self) -> list[list[str]]:
        """The cells of every table of the answer."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll("#answer .told tbody tr")]
                     .map((row) => [...row.cells].map((cell) => cell.textContent))"""
        )

    @property
    def sentences(self) -> list[str]:
        return self.page.evaluate(TEXTS, "#answer .told section:not(.sentences, .about) > p")

    @property
    def cards(self) -> list[str]:
        """The numbers that people act on."""
        return self.page.evaluate(TEXTS, "#answer .card .value")

    @property
    def trouble(self) -> str:
        """What is said to be wrong, wherever that is."""
        return " ".join(filter(None, self.page.evaluate(TEXTS, "#trouble, .at-field")))

    @property
    def lines(self) -> dict[str, str]:
        """Each line of the picture, by its place: the path that draws it."""
        return self.page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll("#chart .plot path.trace")]
                     .map((one, k) => [k, one.getAttribute("d")]))"""
        )

    @property
    def set_to(self) -> dict[str, str]:
        """What every control holds; of a slider, what is read out."""
        return self.page.evaluate(
            """() => {
              const found = {}, all = "#controls input:not([type=file]), #controls select";
              for (const one of document.querySelectorAll(all)) {
                found[one.id] = ["checkbox", "radio"].includes(one.type) ? one.checked
                  : one.type === "range" ? one.getAttribute("aria-valuetext") : one.value;
              }
              return found;
            }"""
        )

    @property
    def everything(self) -> tuple[object, ...]:
        """What must come back when the URL is opened again."""
        return self.headline, self.said, self.set_to, self.lines

    def bottom(self, css: str) -> float:
        """How far down the lowest of these elements ends."""
        return self.page.evaluate(BOTTOM, css)

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        return self.page.evaluate(
            """() => document.documentElement.scrollWidth - document.documentElement.clientWidth"""
        )

    def code(self, label: str) -> str:
        """What can be copied, as it stands on the page."""
        return self.page.locator(f"#{label}-text").text_content()

    # -- what a person does

    def number(self, name: str) -> Locator:
        """The exact value of a dial."""
        return self.page.locator(f'#controls [data-field="{name}"] input[data-exact]')

    def slider(self, name: str) -> Locator:
        return self.page.locator(f'#controls [data-field="{name}"] input[type="range"]')

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
