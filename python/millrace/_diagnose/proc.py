"""What /proc says of processes, threads and the machine. What it does not say is None."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Optional

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGESIZE")


def text(path: str) -> str:
    """A file of the system's; empty where there is none, or it is gone."""
    try:
        with open(path, encoding="utf8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class Times(NamedTuple):
    """Of a thread or a process, since it began (ms)."""

    cpu: float
    #: Waited for a core.
    delay: float


def times_of(path: str) -> Optional[Times]:
    """Those of /proc/PID/task/TID."""
    words = text(f"{path}/schedstat").split()
    if len(words) < 2:
        return None
    return Times(int(words[0]) / 1e6, int(words[1]) / 1e6)


def threads_of(pid: int) -> List[int]:
    """Its threads at present."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def process_times(pid: int) -> Optional[Times]:
    """All threads of a process together."""
    found = [times_of(f"/proc/{pid}/task/{tid}") for tid in threads_of(pid)]
    known = [times for times in found if times is not None]
    if not known:
        return None
    return Times(sum(times.cpu for times in known), sum(times.delay for times in known))


def children_of(pid: int) -> List[int]:
    """Processes that it started, and that they started: helpers of Python's multiprocessing are none."""
    found: List[int] = []
    for tid in threads_of(pid):
        for child in map(int, text(f"/proc/{pid}/task/{tid}/children").split()):
            below = children_of(child)
            command = text(f"/proc/{child}/cmdline")
            helper = "resource_tracker" in command or ("forkserver" in command and below)
            found += below if helper else [child, *below]
    return sorted(set(found))


def read_bytes(pid: int) -> Dict[str, int]:
    """Bytes read in all (rchar), from the disk (read_bytes), and how often (syscr)."""
    words = [line.split(":") for line in text(f"/proc/{pid}/io").splitlines() if ":" in line]
    return {name: int(value) for name, value in words}


def resident(pid: int) -> int:
    """Bytes of memory that it has."""
    words = text(f"/proc/{pid}/statm").split()
    return int(words[1]) * _PAGE if len(words) > 1 else 0


def busy_of_cores(cores: List[int]) -> Dict[int, float]:
    """Seconds in which each of them was busy, since the machine started."""
    found = {}
    for line in text("/proc/stat").splitlines():
        name, *words = line.split()
        if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in cores:
            user, nice, system, _, _, irq, soft, steal = (int(word) for word in [*words, *"00000000"][:8])
            found[int(name[3:])] = (user + nice + system + irq + soft + steal) / _TICKS
    return found


def pressure(kind: str) -> Optional[float]:
    """Seconds in which some task waited for this: cpu, io or memory."""
    for line in text(f"/proc/pressure/{kind}").splitlines():
        if line.startswith("some"):
            return int(line.rpartition("total=")[2]) / 1e6
    return None


def page_cache() -> Optional[int]:
    """Bytes of files in memory."""
    for line in text("/proc/meminfo").splitlines():
        if line.startswith("Cached:"):
            return int(line.split()[1]) * 1024
    return None
