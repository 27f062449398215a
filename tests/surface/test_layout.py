"""The tree keeps to its rules, and CONTRIBUTING.md tells of it."""

import ast
import builtins
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tellapart"
SHAPE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## ")[1]
MODULES = [path for path in SOURCE.rglob("*.py") if path.name != "__main__.py"]
# A folder that a person can read at one glance.
MOST_FILES = 21


def module_of(path):
    """The dotted name of a module, from its file."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path):
    """The own modules and names that a file imports, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tellapart"):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_the_layers_are_those_that_are_enforced():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract, *_ = project["tool"]["importlinter"]["contracts"]
    enforced = " -> ".join(layer.replace("tellapart.", "") for layer in contract["layers"])
    assert re.search(r"^    (cli -> .+)$", SHAPE, re.M)[1] == enforced


def test_every_layer_is_in_the_tree_and_the_map_and_the_other_way_round():
    drawn = re.findall(r"\w+", re.search(r"^    (cli -> .+)$", SHAPE, re.M)[1])
    there = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    there |= {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(drawn) == sorted(there)
    mapped = [name for name in drawn if re.search(rf"^- .*`{name}`:", SHAPE, re.M)]
    assert sorted(mapped) == sorted(there)


def test_every_package_maps_its_rooms():
    """Whoever opens a package reads there what its sub-packages are for."""
    for path in SOURCE.rglob("__init__.py"):
        rooms = [room.parent.name for room in path.parent.glob("*/__init__.py")]
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert said
        if path.parent != SOURCE:
            assert [room for room in rooms if f"`{room}`" not in said] == [], path


def test_a_folder_can_be_read():
    folders = {path.parent for path in MODULES}
    sizes = {str(folder.relative_to(SOURCE)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: size for name, size in sizes.items() if size > MOST_FILES} == {}


def test_nobody_imports_a_private_module_of_another_package():
    names = {module_of(path) for path in MODULES}
    crossing = [
        f"{module_of(path)} -> {target}"
        for path in MODULES
        for target in imports_of(path)
        for module in [target if target in names else target.rpartition(".")[0]]
        if module.rpartition(".")[2].startswith("_")
        and module.count(".") > 1
        and not module_of(path).startswith(module.rpartition(".")[0])
    ]
    assert crossing == []


def classes_of(path):
    """The classes that a file defines, with the names of what they are made from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield node.name, [ast.unparse(base).rpartition(".")[2] for base in node.bases]


def test_no_class_name_stands_twice():
    homes = {}
    for path in MODULES:
        for name, _ in classes_of(path):
            homes.setdefault(name, []).append(module_of(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_exceptions_are_in_errors():
    """What callers may catch is one tree; those of the page and the command line end there."""
    errors = {"Exception", "BaseException"}
    errors |= {name for name in dir(builtins) if name.endswith(("Error", "Exception", "Interrupt"))}
    errors |= {name for name, _ in classes_of(SOURCE / "errors.py")}
    elsewhere = [
        f"{module_of(path)}.{name}"
        for path in MODULES
        if path != SOURCE / "errors.py" and not {"web", "cli"} & set(path.relative_to(SOURCE).parts)
        for name, bases in classes_of(path)
        if errors & set(bases) and not name.startswith("_")
    ]
    assert elsewhere == []


def test_results_are_named_by_what_they_are():
    """Fields of records aside: there the record says of what it is one."""
    dialect = {"one", "found", "told"}
    named = [
        f"{module_of(path)}:{name.lineno} {name.id}"
        for path in MODULES
        for tree in [ast.parse(path.read_text(encoding="utf-8"))]
        for fields in [{id(x.target) for x in ast.walk(tree) if isinstance(x, ast.AnnAssign)}]
        for name in ast.walk(tree)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.id in dialect
        if id(name) not in fields
    ]
    assert named == []


def test_no_room_has_the_name_of_a_public_function_of_its_package():
    """Importing the room would hide the function."""
    for path in SOURCE.rglob("__init__.py"):
        names = path.with_name("_public.py") if path.parent == SOURCE else path
        tree = ast.parse(names.read_text(encoding="utf-8"))
        exported = {
            name.asname or name.name: f"{node.module}.{name.name}"
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        rooms = {module.stem for module in path.parent.glob("*.py")} - {"__init__"}
        rooms |= {room.parent.name for room in path.parent.glob("*/__init__.py")}
        own = module_of(path)
        hidden = {name for name in rooms & set(exported) if exported[name] != f"{own}.{name}"}
        assert hidden == set(), own


def test_every_module_opens_with_what_it_is_for():
    folders = ("src", "tests", "benchmarks", "examples", "docs")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    openings = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in paths]
    silent = [
        str(path.relative_to(ROOT))
        for path, opening in zip(paths, openings, strict=True)
        if not opening or not re.search(r"[.?!:]$", opening.partition("\n\n")[0])
    ]
    assert len(paths) > 500
    assert silent == []
