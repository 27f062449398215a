"""The notebooks run from top to bottom, and are kept without what they print."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = {
    "audit": ["REFUTED", "NOT REFUTED"],
    "choose": ["NOT REFUTED"],
    "dp-sgd": ["refuted: True"],
}
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def test_there_is_one_for_each_user():
    assert [notebook.stem for notebook in NOTEBOOKS] == ["audit", "choose", "dp-sgd"]


def test_a_notebook_is_a_story_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert 5 <= len(code) <= 8
    assert cells[0]["cell_type"] == "markdown"
    assert "".join(cells[0]["source"]).startswith("# ")
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
def test_a_notebook_runs_draws_and_reaches_its_verdicts(path, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    kept = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=kept).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    drawn = [out for out in outputs if "image/png" in out.get("data", {})]
    printed = [out for out in outputs if out["output_type"] == "stream"]
    assert drawn
    assert [out["text"] for out in printed if out["name"] == "stderr"] == []
    said = "".join(out["text"] for out in printed)
    verdicts = re.findall(r"^(?:NOT REFUTED|REFUTED|refuted: \w+)", said, re.M)
    assert verdicts == VERDICTS[path.stem]
