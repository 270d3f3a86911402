"""CUDA's queues are asked for when millrace is imported, unless somebody has chosen, or it is too late."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import millrace
from millrace._cuda import queues


@pytest.mark.parametrize(("before", "after"), [(None, "32"), ("1", "1")])
def test_importing_asks_unless_somebody_has_chosen(before, after):
    environment = {name: value for name, value in os.environ.items() if name != queues.QUEUES_VARIABLE}
    if before is not None:
        environment[queues.QUEUES_VARIABLE] = before
    environment["PYTHONPATH"] = str(Path(millrace.__file__).parents[1])
    # As C sees it: that is where CUDA looks.
    program = f"""
import ctypes, millrace
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(getenv(b"{queues.QUEUES_VARIABLE}").decode())"""
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == after


def torch_in_use(monkeypatch, used):
    cuda = SimpleNamespace(is_initialized=lambda: used)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(queues, "late", False)


@pytest.mark.parametrize("used", [True, False])
def test_it_is_known_when_cuda_was_in_use_before(monkeypatch, used):
    torch_in_use(monkeypatch, used)
    environment: dict = {}
    queues.ask(environment)
    assert environment == {queues.QUEUES_VARIABLE: "32"} and queues.late is used


def test_who_has_chosen_is_never_too_late(monkeypatch):
    torch_in_use(monkeypatch, True)
    queues.ask({queues.QUEUES_VARIABLE: "1"})
    assert not queues.late
