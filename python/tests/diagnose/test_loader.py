"""Any loader is watched while it runs: how long a loop waits for it, and what its makers do meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import millrace
from millrace._diagnose import loader, proc
from millrace._diagnose.named import rows_of

HERE = Path(__file__).parent
WORK = ("open", "read", "decode", "transform", "map", "close")


def watch(name, *options):
    """The evidence."""
    command = [sys.executable, "-m", "millrace._diagnose.loader", name, *options]
    path = os.pathsep.join([str(Path(millrace.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    out = subprocess.run(command, cwd=HERE, env=env, capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, out.stdout + out.stderr
    return json.loads(out.stdout.splitlines()[-1])


def total(evidence, *path):
    def value(maker):
        for part in path:
            maker = maker[part]
        return maker

    return sum(value(maker) for maker in evidence["makers"])


def running(evidence):
    """CPU time as a share of the makers' work: on a busy machine the rest is waiting for a core as well."""
    return total(evidence, "cpu") / sum(total(evidence, "work", kind) for kind in WORK)


def cpu_of_a_row(evidence):
    return total(evidence, "cpu") / total(evidence, "rows")


def test_steps_and_waits():
    evidence = watch("loaders:generated", "--steps", "8", "--step-ms", "2")
    steps = evidence["steps"]
    assert evidence["version"] == 1 and len(steps) == 8
    # The generator has five steps: another one was made for the rest.
    assert [s.get("first", False) for s in steps] == [True] + [False] * 7
    assert [i for i, s in enumerate(steps) if s.get("epochStart")] == [5]
    assert all(s["supply"] >= 10 and s["compute"] >= 2 and s["samples"] == 3 for s in steps)
    assert evidence["probes"]["ideal"] == {"ms": 2, "from": "given", "steps": 8}
    facts = evidence["facts"]
    assert (facts["workers"], facts["rows"], facts["foreign"]) == (0, 3, "generator")
    # It makes its batches in the loop itself, and sleeps meanwhile.
    assert running(evidence) < 0.5
    assert total(evidence, "wait") >= 0 and {m["maker"] for m in evidence["makers"]} == {0}


def test_makers_add_up():
    evidence = watch("loaders:batches", "--steps", "40")
    assert evidence["facts"]["rows"] == 4
    for maker in evidence["makers"]:
        work = sum(maker["work"].values())
        assert work + maker["wait"] == pytest.approx(maker["to"] - maker["from"], abs=1e-3)
        assert min(maker["cpu"], maker["delay"], maker["wait"], *maker["work"].values()) >= -1e-6
    assert 0 < total(evidence, "rows") <= 160
    assert cpu_of_a_row(evidence) > 0.6  # it spins for 5 ms a batch
    host = evidence["host"]
    assert host["trainerCores"] > 0 and host["engineCores"] == 0 and host["rssBytes"] > 0
    assert len(host["coreBusy"]) >= host["allowed"] and set(host["psi"]) == {"cpu", "io", "memory"}


@pytest.mark.parametrize("name", ["Processes", "Threads"])
def test_processes_and_threads_are_makers(name):
    evidence = watch(f"loaders:{name}", "--steps", "120")
    assert evidence["facts"]["workers"] == 1  # one at a time, though each epoch has another
    assert evidence["host"]["engineCores"] > 0.02
    assert cpu_of_a_row(evidence) > 2.5  # it spins for 5 ms
    assert 60 < total(evidence, "rows") <= 120 and 60 < total(evidence, "claims") <= 120


def test_a_loop_that_makes_its_batches_itself_is_not_blocked_by_its_steps():
    evidence = watch("loaders:batches", "--steps", "40", "--step-ms", "10")
    # A batch spins for 5 ms: all of that is CPU time of its waits, none of the step's sleep.
    assert evidence["facts"]["workers"] == 0
    assert total(evidence, "cpu") / 40 > 4
    cpu, delay = total(evidence, "cpu"), total(evidence, "delay")
    assert cpu + delay > 0.8 * sum(total(evidence, "work", kind) for kind in WORK)


def test_a_step_of_the_users_own():
    evidence = watch("loaders.py:batches", "--steps", "3", "--train", "loaders:train")
    assert len(evidence["steps"]) == 3 and evidence["probes"] == {}


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["loaders"], "expected module:object"),
        (["lodaers:batches"], "there is no module 'lodaers'"),
        (["loaders:bathces"], "has no 'bathces'"),
        (["loaders:os"], "is nothing to loop over"),
        (["loaders:Nothing"], "it gave no batch"),
        (["loaders:batches", "--train", "loaders:trained"], "expected a function"),
    ],
)
def test_what_can_not_be_watched(arguments, said, capsys, monkeypatch):
    monkeypatch.chdir(HERE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert loader.main(arguments) == 2
    assert said in capsys.readouterr().err


def test_samples_of_a_batch():
    class Array:
        shape = (7, 3)

    assert rows_of({"image": Array(), "label": [1]}) == 7
    assert rows_of([Array(), Array()]) == rows_of((Array(),)) == 7
    assert rows_of([1, 2, 3]) == 3 and rows_of("text") == 1 and rows_of(None) == 1


def test_what_proc_does_not_say_is_unknown(monkeypatch):
    monkeypatch.setattr(proc, "text", lambda path: "")
    assert proc.times_of("/proc/self") is None and proc.pressure("io") is None and proc.throttled() is None
    assert proc.memory_limit() is None and proc.quota() is None and proc.read_bytes(1) == {}


def test_a_loader_of_pytorch_that_sleeps_and_one_that_spins():
    pytest.importorskip("torch")
    sleeping = watch("loaders:sleeping", "--steps", "60")
    facts = sleeping["facts"]
    assert facts["foreign"] == "torch.utils.data.DataLoader"
    assert (facts["workers"], facts["depth"], facts["rows"]) == (2, 4, 4)
    assert running(sleeping) < 0.5 and cpu_of_a_row(sleeping) < 1.5
    assert cpu_of_a_row(watch("loaders:spinning", "--steps", "60")) > 1.5
