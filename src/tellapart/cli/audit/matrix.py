"""A matrix of models by records (LiRA, RMIA) instead of scores: coins, mask, attack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from tellapart._checks import refuse
from tellapart.audit import Coins, Evidence, Matrix, Outputs, attacks
from tellapart.audit.trainings import matrix_files
from tellapart.audit.trainings.attacks import Attack
from tellapart.cli.audit.method import MethodOptions
from tellapart.cli.audit.score_files import Columns
from tellapart.cli.options import TextOption, WholeOption, option_of
from tellapart.mechanisms.subject import Subject


@Parameter(name="*", group=Group("A matrix of models by records, instead of scores", sort_key=3))
@dataclass(frozen=True)
class MatrixOptions:
    """How the training sets of many models were drawn, what the numbers are, and the attack."""

    coins: Annotated[
        Literal["independent", "fixed-size", "balanced", "one-record"] | None,
        Parameter(
            help="How training sets were drawn. independent: a coin for each record and model; "
            "fixed-size: random subsets of one size; balanced: each record in as many models as "
            "any other; one-record: models differ in one record. Known for folders of LiRA's "
            "reference code and of Privacy Meter.",
            show_default=False,
        ),
    ] = None
    inclusion: Annotated[
        TextOption, Parameter(help="The mask, an .npy file: who was in which model.")
    ] = None
    outputs: Annotated[
        Literal["confidence", "loss", "logit", "score"] | None,
        Parameter(help="What the numbers are, if their name does not say.", show_default=False),
    ] = None
    attack: Annotated[
        Literal["lira", "lira-offline", "rmia", "rmia-offline"] | None,
        Parameter(
            help="An attack that learns from other models; without it numbers are scores.",
            show_default=False,
        ),
    ] = None
    audited_model: Annotated[
        WholeOption, Parameter(help="For one-run: which row, from 0. Default: 0.")
    ] = None

    def read_from(self, files: Sequence[str]) -> bool:
        """Whether these files are a matrix."""
        return self != MatrixOptions() or any(matrix_files.is_matrix(file) for file in files)

    def evidence(
        self,
        files: Sequence[str],
        design: str,
        claim: Subject | None,
        delta: float,
        columns: Columns,
        looking: MethodOptions,
    ) -> Evidence:
        """What the matrix shows, read by the design."""
        if len(files) != 1:
            refuse("a matrix", "be one file or folder", " ".join(files))
        for name, value in asdict(columns).items():
            if value != asdict(Columns(orientation=columns.orientation))[name]:
                refuse(option_of(name), "be left out with a matrix", value)
        looking.unused(f"{design} of a matrix", "method", "threshold", "guesses_in", "guesses_out")
        options: dict[str, Any] = {"orientation": columns.orientation, "inclusion": self.inclusion}
        if self.coins is not None:
            options["coins"] = Coins(self.coins)
        if self.outputs is not None:
            options["outputs"] = Outputs(self.outputs)
        matrix = Matrix.read(files[0], **options)
        kinds: dict[str, Callable[[bool], Attack]] = {
            "lira": lambda online: attacks.Lira(online=online),
            "rmia": lambda online: attacks.Rmia(online=online),
        }
        attack = None
        if self.attack is not None:
            kind, _, offline = self.attack.partition("-")
            attack = kinds[kind](not offline)
        if self.audited_model is not None and design != "one-run":
            refuse("--audited-model", "come with --design one-run", self.audited_model)
        if design == "many-runs":
            return matrix.by_record(looking.confidence, attack=attack, delta=delta)
        if design == "one-run":
            row = self.audited_model or 0
            if row >= matrix.models:
                refuse("--audited-model", f"be at most {matrix.models - 1} (from 0)", row)
            return matrix.one_run(
                row, looking.confidence, attack=attack, claim=claim, seed=looking.seed
            )
        if design != "pooled":
            refuse("--design", "be one-run, pooled or many-runs with a matrix", design)
        return matrix.pooled(looking.confidence, attack=attack, claim=claim, seed=looking.seed)
