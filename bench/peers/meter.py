"""What a tree of processes costs: CPU seconds and proportional memory, read from /proc.

A loader is rarely one process: workers, an engine, helpers. Every figure here is a sum over a process and all
that descend from it. CPU includes children that have ended and were waited for (cutime, cstime): with
`adopt_orphans` a child whose parent died comes back to the root, so none escapes the sum. Memory is PSS: a
page shared by n processes counts 1/n in each, so a shared batch is counted once.
"""

import ctypes
import os
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Descendants whose parent dies become children of this process, not of init."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def _stat(pid):
    """(parent, CPU ticks of the process and its reaped children), or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything, so fields are counted from its end: state is field 3.
    fields = text[text.rindex(")") + 2 :].split()
    return int(fields[1]), sum(int(ticks) for ticks in fields[11:15])


def tree(root):
    """{pid: CPU ticks} of `root` and its descendants."""
    all_of = {int(name): stat for name in os.listdir("/proc") if name.isdigit() and (stat := _stat(name))}
    children = {}
    for pid, (parent, _) in all_of.items():
        children.setdefault(parent, []).append(pid)
    found, waiting = {}, [root] if root in all_of else []
    while waiting:
        pid = waiting.pop()
        found[pid] = all_of[pid][1]
        waiting += children.get(pid, ())
    return found


def cpu_seconds(root):
    return sum(tree(root).values()) / TICK


def machine_cpu_seconds():
    """CPU seconds that the whole machine has been busy: all but idle and iowait."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal = (
            int(n) for n in file.readline().split()[1:9]
        )
    return (user + nice + system + irq + softirq + steal) / TICK


def wait_for_quiet(cores, patience=60):
    """Waits until the machine is busy with no more than `cores` for a second; no longer than `patience`."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        begun, busy = time.monotonic(), machine_cpu_seconds()
        time.sleep(1)
        if (machine_cpu_seconds() - busy) / (time.monotonic() - begun) <= cores:
            return


def pss_bytes(root):
    """Proportional memory of the tree. Processes that end meanwhile count nothing."""
    total = 0
    for pid in tree(root):
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                line = next((line for line in file if line.startswith("Pss:")), "Pss: 0 kB")
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += int(line.split()[1]) * 1024
    return total


class PeakMemory:
    """Samples the PSS of a tree from outside until it is stopped, and keeps the highest.

    A sample costs milliseconds per GB mapped, in the measuring process: twice a second is a compromise.
    """

    def __init__(self, root, interval=0.5):
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, args=(root, interval), daemon=True)
        self._thread.start()

    def _sample(self, root, interval):
        while not self._stop.wait(interval):
            self.peak = max(self.peak, pss_bytes(root))

    def stop(self):
        self._stop.set()
        self._thread.join()
        return self.peak
