"""The cores that workers run on: what the engine is told, and what its threads do."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Set

import pytest
from patience import wait_until

import millrace
from millrace._open.trainer import trainer_facts
from millrace.feed import run_of

FEED = {
    "source": {"synthetic": {"count": 4096, "tensors": {"shape": [16], "dtype": "u8"}}},
    "fields": {"data": {"from": "data", "as": "bytes", "ragged": {"max": 16}}},
    "batch": {"size": 8},
}
CORES = sorted(os.sched_getaffinity(0))


def worker_cores(pid: int) -> Set[int]:
    """The cores that workers of an engine may run on, all together."""
    cores: Set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith("millrace w"):
            cores |= os.sched_getaffinity(int(task.name))
    return cores


@pytest.mark.parametrize("affinity", [str(CORES[-1]), [CORES[-1]]])
def test_workers_are_bound_to_a_list(engine, runtime_folder, affinity):
    with millrace.Feed(FEED, workers=2, affinity=affinity) as feed:
        assert len(next(iter(feed)).ids) == 8
        pid = run_of(feed).stream.client.engine.pid
        assert wait_until(lambda: worker_cores(pid) == {CORES[-1]})
        assert os.sched_getaffinity(pid) == set(CORES)
    assert os.sched_getaffinity(0) == set(CORES)


@pytest.mark.skipif(len(CORES) < 2, reason="one core can't be divided")
def test_auto_leaves_the_trainer_the_cores_that_it_is_bound_to(engine, runtime_folder):
    with millrace.Feed(FEED, workers=1) as feed:
        next(iter(feed))
        pid = run_of(feed).stream.client.engine.pid
        os.sched_setaffinity(0, CORES[1:])
        try:
            with millrace.Feed(FEED, workers=1, affinity="auto") as bound:
                next(iter(bound))
                assert wait_until(lambda: worker_cores(pid) == {CORES[0]})
        finally:
            os.sched_setaffinity(0, CORES)


def niceness(pid):
    tasks = Path(f"/proc/{pid}/task").iterdir()
    lines = [
        (task / "stat").read_text() for task in tasks if (task / "comm").read_text().startswith("millrace w")
    ]
    return {int(line[line.rindex(")") + 2 :].split()[16]) for line in lines}


def test_workers_are_nice_and_their_session_is_not(engine, runtime_folder):
    with millrace.Feed(FEED, workers=1) as feed:
        next(iter(feed))
        pid = run_of(feed).stream.client.engine.pid
        assert wait_until(lambda: niceness(pid) == {10})
        session = Path(f"/proc/{pid}/autogroup")
        assert not session.exists() or " nice 0" in session.read_text()


def test_cores_that_are_not_allowed_are_named(engine, runtime_folder):
    with pytest.raises(millrace.DefinitionError, match="affinity: this process may not use core 4095; it"):
        millrace.Feed(FEED, affinity=[4095])


def test_what_the_engine_is_told_of_gpus(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert trainer_facts({}) == {}
    env = {"CUDA_VISIBLE_DEVICES": "2,3", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "LOCAL_RANK": "1"}
    assert trainer_facts(env) == {"visible": "2,3", "order": "PCI_BUS_ID", "device": 1}
    assert trainer_facts({"SLURM_LOCALID": "x"}) == {}

    chosen = SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 3)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=chosen))
    assert trainer_facts(env)["device"] == 3
    chosen.is_initialized = lambda: False
    assert trainer_facts(env)["device"] == 1
