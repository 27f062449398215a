"""The stored values of the frameworks, by name, and the data models that their inputs describe."""

import json
from pathlib import Path

from tellapart.worlds import JointTable, MarkovChain

_FILE = Path(__file__).with_name("frameworks.json")
BY_ID = {record["id"]: record for record in json.loads(_FILE.read_text(encoding="utf-8"))}


def table_of(joint):
    return JointTable.of({tuple(map(int, bits)): share for bits, share in joint.items()})


def chain_of(inputs):
    return MarkovChain(inputs["initial"], inputs["transition"], inputs["T"])
