"""What does ε = 1 mean? Run `make demo`.

Every number printed here is read off a curve; nothing is typed in.
"""

from __future__ import annotations

import math
import textwrap

import tellapart as ta
from tellapart import choose, reproduce, risk
from tellapart._numeric.rounding import to_decimals

RATES = (0.001, 0.01, 0.1)
PEOPLE = 1_000
FOLDER = "build/demo"


def table(rows: dict[str, ta.TradeoffCurve]) -> None:
    """The best attack on each curve at a few false-positive rates, rounded up."""
    heads = [f"at FPR {rate:g}" for rate in RATES]
    print(f"  {'TPR of the best attack, rounded up':44}" + "".join(f"{head:>14}" for head in heads))
    for name, curve in rows.items():
        print(f"  {name:44}" + "".join(f"{at_most(rate):>14.5f}" for rate in curve.tpr(RATES)))


def at_most(rate: float) -> float:
    """Five decimals that no attacker exceeds: the nearest ones might be less than the truth."""
    nearest = round(float(rate), 5)
    if math.isclose(nearest, rate, rel_tol=1e-12):  # the last bit of a double is no rate
        return nearest
    return to_decimals(rate, 5, up=True)


def main() -> None:
    """Print what ε = 1 means for an attacker."""
    promise = ta.guarantee(epsilon=1)
    laplace = ta.Laplace.with_epsilon(1)

    print("What does ε = 1 mean? An attacker sees an output and must say whether your record")
    print("was in the data. No attacker can do better than this:\n")
    table(
        {
            "any mechanism with ε = 1": promise,
            "  randomised response": ta.RandomizedResponse(1).curve(),
            "  Laplace noise": laplace.curve(),
            "  exponential mechanism": ta.ExponentialMechanism(1).curve(),
            "any mechanism with ε = 1, δ = 1e-5": ta.guarantee(1, 1e-5),
            "  Laplace noise that is cut off": ta.TruncatedLaplace.with_epsilon(1, 1e-5).curve(),
            "  Gaussian noise": ta.Gaussian.analytic(1, 1e-5).curve(),
            "perfect privacy": ta.guarantee(epsilon=0),
        }
    )
    print("\nIn people, for an attacker who thinks 1 in 100 is a member:")
    for sentence in risk.words(promise, prior=0.01, out_of=PEOPLE).splitlines():
        print(textwrap.fill(sentence, 92, initial_indent="  ", subsequent_indent="    "))

    limit = choose.at_most(0.76, risk.f_score, weight=1)
    noise = choose.largest(ta.Laplace.with_epsilon, [limit])
    anything = choose.largest(ta.guarantee, [limit])
    print(f"\nWhich ε keeps an attacker's F1 under {limit.bound}, at even odds?")
    print(
        f"  Laplace noise up to ε = {noise.rounded(4)}; any mechanism up to {anything.rounded(4)}"
    )
    print()

    attack = laplace.test(absent=10, present=11)
    cut = attack.threshold(fpr=0.1)
    rates = attack.rates(cut)
    print("The attack itself, on a noisy count that is 10 without you and 11 with you:")
    print(f"say “present” when the output exceeds {cut:.4f}; that accuses a data set without you")
    print(f"with probability {rates.fpr:.4f} and finds you with {rates.tpr:.4f}.\n")

    region = ta.PrivacyRegion(epsilon=1)
    print("Someone reports an attack with FPR 0.01 and TPR 0.05 against a promise of ε = 1:")
    for failure in region.failures(fpr=0.01, fnr=0.95):
        print(f"  impossible if the promise holds: {failure}")

    print("\nEvery figure and table of the founding paper, with what is wrong in print:")
    for verdict, count in reproduce.verdicts(reproduce.table_one()).items():
        print(f"  {count:2d} cells of its Table 1: {verdict.value}")
    print(f"\nOpen {reproduce.run(FOLDER).page} to see them; try `.venv/bin/tellapart --help`.")


if __name__ == "__main__":
    main()
