"""The folders of the package: which imports which, no cycles, none too large; and no use of privates."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

import pytest

import millrace

PACKAGE = Path(millrace.__file__).parent
TESTS = Path(__file__).parent

#: What each folder, and each file at the top, imports: no less and no more. From the bottom up.
ROOMS: Dict[str, Set[str]] = {
    "errors": set(),
    "batch": set(),
    "_data": {"errors"},
    "_diagnose": {"errors"},
    "_open": {"errors", "_data"},
    "_spans": {"errors"},
    "_client": {"errors", "_spans"},
    "_cuda": {"errors", "_client"},
    "_gpu": {"errors", "_cuda", "_spans"},
    "_stream": {"errors", "batch", "_client", "_cuda", "_open", "_spans"},
    "_view": {"errors", "batch", "_client", "_cuda", "_gpu", "_stream"},
    "views": {"errors", "_open", "_stream", "_view"},
    "diagnosing": {"errors", "_stream", "_view", "views"},
    "feed": {"errors", "_client", "_data", "_spans", "_open", "_stream", "_view", "views", "diagnosing"},
    "_define": {"errors", "_data", "_open", "feed"},
    "__init__": {"errors", "batch", "_define", "_cuda", "_open", "_spans", "feed"},
}
#: Tables that are written by programs: the folder may have any number of files, and every room may read them.
GENERATED = "_generated"
#: Files of ``_data`` that worker.py, which is run as a file, imports as files.
NEIGHBOURS = ("worker_dataset", "worker_random", "worker_values")


def modules() -> Dict[str, Path]:
    """Every module of the package, by its name below ``millrace``."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] != "_engine":
            name = ".".join(part for part in parts if part != "__init__")
            found[name or "__init__"] = path
    return found


MODULES = modules()


def room_of(module: str) -> str:
    return module.partition(".")[0]


def imported_by(module: str) -> Iterator[str]:
    """Modules of the package that a module imports: also within functions, and for types alone."""
    path = MODULES[module]
    package = [] if module == "__init__" else module.split(".")[: None if path.name == "__init__.py" else -1]
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ["millrace", *package[: len(package) - node.level + 1]] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] in (
                "worker_dataset",
                "worker_random",
                "worker_values",
            ):  # neighbours, imported as files
                yield f"_data.{name.split('.')[0]}"
            elif name.split(".")[0] == "millrace":
                yield from nearest(name)


def nearest(name: str) -> Iterator[str]:
    """``millrace.a.b.C``: the longest beginning that is a module."""
    parts = name.split(".")[1:]
    while parts:
        found = ".".join(parts)
        if found in MODULES:
            yield found
            return
        parts.pop()
    yield "__init__"


IMPORTS = {module: sorted(set(imported_by(module)) - {module}) for module in MODULES}


@pytest.mark.parametrize("room", sorted({room_of(module) for module in MODULES} - {GENERATED}))
def test_a_room_imports_exactly_what_the_table_says(room):
    found = {
        room_of(target)
        for module, targets in IMPORTS.items()
        if room_of(module) == room
        for target in targets
        # A folder is named by its package as well as by the modules in it.
        if room_of(target) not in (room, GENERATED)
    }
    assert found == ROOMS[room]


def test_imports_go_one_way():
    order = list(ROOMS)
    for room, imports in ROOMS.items():
        for other in imports:
            assert order.index(other) < order.index(room), f"{room} imports {other}, which stands above it"


def test_no_module_imports_itself_by_way_of_others():
    """Types alone make no exception: two files that need each other's types are one idea, or three."""
    done: Set[str] = set()

    def visit(module: str, path: List[str]) -> None:
        assert module not in path, " → ".join([*path[path.index(module) :], module])
        if module not in done:
            for target in IMPORTS[module]:
                visit(target, [*path, module])
            done.add(module)

    for module in MODULES:
        visit(module, [])


def test_public_names_hide_no_folder():
    assert not {room_of(module) for module in MODULES} & set(millrace.__all__)
    folders = {path.parent.name for path in MODULES.values() if path.parent != PACKAGE}
    assert all(name.startswith("_") for name in folders)


# ---------------------------------------------------------------- privates


def private_names(tree: ast.AST) -> Set[str]:
    """Names with an underscore that a file itself gives to attributes, methods, functions or variables."""
    found: Set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                found.add(node.attr)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


#: Names of Python's and of libraries', which only look like privates.
FOREIGN = {
    "_asdict", "_current_frames", "_exit", "_fields", "_fields_", "_length_", "_name", "_obj", "_replace",
    "_type_",
}  # fmt: skip


def reached_into(path: Path) -> Iterator[Tuple[int, str]]:
    """Uses of ``something._x`` where _x is not a name that the file itself has given."""
    tree = ast.parse(path.read_text("utf8"))
    own = private_names(tree) | FOREIGN
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            continue
        # millrace._view and the like are modules.
        if node.attr not in own and node.attr not in {room_of(module) for module in MODULES}:
            yield node.lineno, f"{ast.unparse(node.value)}.{node.attr}"


@pytest.mark.parametrize("folder", [PACKAGE, TESTS], ids=["millrace", "tests"])
def test_a_name_with_an_underscore_belongs_to_its_file(folder):
    found = [
        f"{path.relative_to(folder)}:{line}: {what}"
        for path in sorted(folder.rglob("*.py"))
        if "_engine" not in path.parts
        for line, what in reached_into(path)
    ]
    assert not found
