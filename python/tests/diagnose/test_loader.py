"""Any loader is watched while it runs: how long a loop waits for it, and what its makers do meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import PATIENCE

import millrace
from millrace._diagnose import groups, host, loader, proc
from millrace._diagnose.makers import Look, _slice
from millrace._diagnose.named import _is_dataset, rows_of

HERE = Path(__file__).parent
WORK = ("open", "read", "decode", "transform", "map", "close")


def watch(name, *options):
    """The evidence."""
    command = [sys.executable, "-m", "millrace._diagnose.loader", name, *options]
    path = os.pathsep.join([str(Path(millrace.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    out = subprocess.run(command, cwd=HERE, env=env, capture_output=True, text=True, timeout=PATIENCE)
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
    # A sleep takes longer than it is told to: that is no fault of the loader's.
    ideal = evidence["probes"]["ideal"]
    assert ideal["ms"] > 2 and (ideal["from"], ideal["steps"]) == ("given", 8)
    facts = evidence["facts"]
    assert (facts["workers"], facts["rows"], facts["foreign"]) == (0, 3, "generator")
    # It makes its batches in the loop itself, and sleeps meanwhile.
    assert running(evidence) < 0.5
    assert total(evidence, "wait") >= 0 and {m["maker"] for m in evidence["makers"]} == {0}


def test_makers_add_up():
    evidence = watch("loaders:batches", "--steps", "40")
    assert evidence["facts"]["rows"] == 4
    assert evidence["probes"]["ideal"]["ms"] == 0  # there is no trainer
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
    assert evidence["host"]["engineCores"] > 0
    assert cpu_of_a_row(evidence) > 2.5  # it spins for 5 ms
    # What came after the last look at a maker, before it was ended, is not its own.
    assert 0 < total(evidence, "rows") <= 120 and total(evidence, "claims") == total(evidence, "rows")


def test_what_the_loop_runs_while_it_waits_for_a_process_is_hand_over():
    evidence = watch("loaders:Unpickled", "--steps", "60", "--step-ms", "1")
    assert evidence["facts"]["workers"] == 1
    steps = evidence["steps"]
    # Clocks of threads are exact: each batch is taken for 5 ms of CPU time at least.
    assert min(step["handOver"] for step in steps) > 4.9 and min(step["supply"] for step in steps) >= 0
    # A loop that makes its batches itself takes none: all of that is supply.
    own = watch("loaders:batches", "--steps", "10")
    assert all(step["handOver"] == 0 and step["supply"] > 4.9 for step in own["steps"])


def test_a_maker_is_not_blocked_while_the_loop_itself_runs():
    def look(at, cpu, waited, took):
        return Look(at, proc.Times(cpu, 0), 0, 0, 0, waited, took)

    before, now = look(0, 0, 0, 0), look(0.1, 10, 0.08, 0.06)
    # Of 80 ms of waiting the loop ran 60: for 20 it waited for the maker, which ran for 10 ms of the 100.
    apart = _slice(0, before, now, 4, 1, False)
    assert (apart["work"]["map"], apart["wait"]) == (pytest.approx(10 + 20), pytest.approx(70))
    inside = _slice(0, before, now, 4, 1, True)
    assert (inside["work"]["map"], inside["wait"]) == (pytest.approx(80), pytest.approx(20))


def test_a_loop_that_makes_its_batches_itself_is_not_blocked_by_its_steps():
    evidence = watch("loaders:batches", "--steps", "40", "--step-ms", "10")
    # A batch spins for 5 ms: all of that is CPU time of its waits, none of the step's sleep.
    assert evidence["facts"]["workers"] == 0
    assert total(evidence, "cpu") / 40 > 4
    waited = sum(step["supply"] for step in evidence["steps"])
    assert sum(total(evidence, "work", kind) for kind in WORK) <= waited + 1


def test_what_another_thread_sees_of_waits_never_falls(monkeypatch):
    seen = []
    trainer = loader.Trainer(lambda batch: None)
    # Files of /proc are read meanwhile: then other threads run.
    monkeypatch.setattr(loader, "_thread_times", lambda: seen.append(trainer.waited()))

    def batches():
        for _ in range(3):
            time.sleep(0.002)
            seen.append(trainer.waited())
            yield [1]

    trainer.run(batches, 60, 3)
    assert len(seen) > 6 and seen == sorted(seen)


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
        (["loaders:samples"], "is a dataset (loaders.Samples), not a loader: name the DataLoader over it"),
        (["loaders:Samples"], "is a dataset"),
        (["loaders:of_folder"], "can't be called without arguments (missing a required argument: 'path')"),
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
    assert proc.times_of("/proc/self") is None and proc.pressure("io") is None and proc.read_bytes(1) == {}
    assert groups.memory_limit() is None and groups.quota() is None and groups.used() is None
    assert groups.throttled(groups.throttling(), groups.throttling(), 1) is None


CPU = "/sys/fs/cgroup/cpu"
#: Version 1, with a group below another: the tighter limit rules. Memory is version 2's.
GROUPS = {
    "/proc/self/cgroup": "4:cpu,cpuacct:/job/step\n1:name=systemd:/\n0::/job\n",
    "/proc/self/mountinfo": "31 1 0:2 / / rw - ext4 /dev/vda rw\n"
    f"32 31 0:29 / {CPU} rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/all\\040groups rw shared:3 - cgroup2 cgroup2 rw\n",
    f"{CPU}/cpu.cfs_quota_us": "-1\n",
    f"{CPU}/cpu.cfs_period_us": "100000\n",
    f"{CPU}/job/cpu.cfs_quota_us": "400000\n",
    f"{CPU}/job/cpu.cfs_period_us": "100000\n",
    f"{CPU}/job/step/cpu.cfs_quota_us": "25000\n",
    f"{CPU}/job/step/cpu.cfs_period_us": "50000\n",
    f"{CPU}/job/step/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 2000000000\n",
    f"{CPU}/job/step/cpuacct.usage": "3500000000\n",
    "/sys/fs/cgroup/all groups/job/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/all groups/job/memory.max": "1000000\n",
    "/sys/fs/cgroup/all groups/memory.max": "max\n",
}


def test_limits_of_control_groups_count_wherever_they_are_set(monkeypatch):
    files = dict(GROUPS)
    monkeypatch.setattr(proc, "text", lambda path: files.get(path, ""))
    assert groups.quota() == 0.5 and groups.used() == 3.5 and groups.memory_limit() == 1_000_000
    before = groups.throttling()
    files[f"{CPU}/job/step/cpu.stat"] = "nr_periods 20\nnr_throttled 9\nthrottled_time 5000000000\n"
    # Stopped in 5 of 10 periods, for 3 s of 4 on all cores together.
    assert groups.throttled(before, groups.throttling(), 4.0) == 0.5
    assert groups.throttled(before, groups.throttling(), 10.0) == pytest.approx(0.3)


def test_cores_that_a_quota_keeps_from_us_are_not_idle(monkeypatch):
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(host.groups, "quota", lambda: 0.5)
    monkeypatch.setattr(host.time, "process_time", lambda: 0.0)
    clock, busy = [100.0], [0.0]
    monkeypatch.setattr(host.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(host.proc, "busy_of_cores", lambda cores: dict.fromkeys(cores, busy[0]))
    looked = host.Host()
    clock[0], busy[0] = 110.0, 2.5  # two cores, each busy for a quarter of the time
    signals = looked.signals(0.5, True, 0)
    assert signals["allowed"] == 0.5 and sum(signals["coreBusy"]) == 0.5
    # The makers use all that they may: nothing is idle, and there are no others.
    assert signals["idleCores"] == 0 and signals["otherCores"] == 0


def test_datasets_of_pytorch_are_no_loaders():
    torch = pytest.importorskip("torch")
    rows = torch.utils.data.TensorDataset(torch.zeros(3, 2))
    assert _is_dataset(rows) and not _is_dataset(torch.utils.data.DataLoader(rows))
    assert not _is_dataset([1, 2]) and not _is_dataset(iter([1]))


def test_a_loader_of_pytorch_that_sleeps_and_one_that_spins():
    pytest.importorskip("torch")
    sleeping = watch("loaders:sleeping", "--steps", "60")
    facts = sleeping["facts"]
    assert facts["foreign"] == "torch.utils.data.DataLoader"
    assert (facts["workers"], facts["depth"], facts["rows"]) == (2, 4, 4)
    assert running(sleeping) < 0.5 and cpu_of_a_row(sleeping) < 1.5
    assert cpu_of_a_row(watch("loaders:spinning", "--steps", "60")) > 1.5
