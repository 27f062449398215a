"""Presets: common recipes and published deployments, as mechanisms to start from."""

from __future__ import annotations

from operator import attrgetter

from tellapart._decimals import plain_exponent
from tellapart.deployments import DEPLOYMENTS, Deployment

# The schedule of TF Privacy's MNIST tutorial, whose README reports ε = 2.92 at δ = 1e-5 for it.
TF_PRIVACY = "dpsgd:noise_multiplier=1.12,epochs=60,batch_size=256,data_size=60000"
RECIPES = (
    ("laplace:epsilon=1", "a noisy count, ε = 1"),
    (TF_PRIVACY, "DP-SGD on MNIST (TF Privacy tutorial)"),
    (
        "dpsgd:noise_multiplier=1,epochs=10,batch_size=600,data_size=60000",
        "DP-SGD, 10 epochs of 100 batches",
    ),
    (
        "dpsgd:epsilon=8,delta=1e-5,epochs=3,batch_size=1024,data_size=50000",
        "fine-tuning with LoRA, ε = 8",
    ),
    ("randomized-response:epsilon=1.0986122886681098", "a survey by randomised response (75 %)"),
)
# What a source reports of its own mechanism, beside which ours stands.
REPORTED = {TF_PRIVACY: "the tutorial reports 2.92"}


def as_text(deployment: Deployment) -> str:
    """The published guarantee, as any mechanism that keeps it."""
    if deployment.rho is not None:
        return f"any:zcdp={_number(deployment.rho)}"
    delta = f",delta={_number(deployment.delta)}" if deployment.delta else ""
    return f"any:epsilon={_number(deployment.epsilon)}{delta}"


def _number(value: float | None) -> str:
    number = 0.0 if value is None else value
    return str(int(number)) if number.is_integer() else plain_exponent(repr(number))


def _published() -> tuple[tuple[str, str], ...]:
    every = sorted(DEPLOYMENTS, key=attrgetter("curator", "name"))
    return tuple(
        (as_text(each), f"{each.curator}: {each.name} ({each.promise}, {each.per})")
        for each in every
    )


GROUPS = (("Recipes", RECIPES), ("Published releases", _published()))
