"""Others that load the same tokens: python bench/tokens/loading.py KIND FILE LENGTH BATCH WORKERS SECONDS.

Prints rows, seconds and CPU seconds as JSON. What came in the first half second is not counted. Kinds: nanogpt, dataloader, numpy,
millrace (in Python); make (writes so many tokens), drop (takes the file out of the page cache).
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

WARM = 0.5
TICKS = os.sysconf("SC_CLK_TCK")


def make(file: str, tokens: int) -> None:
    """A file of so many random tokens, unless it is there."""
    if os.path.exists(file) and os.path.getsize(file) == 2 * tokens:
        return
    random = np.random.default_rng(1)
    with open(file + ".part", "wb") as out:
        for at in range(0, tokens, 1 << 24):
            random.integers(0, 50257, min(1 << 24, tokens - at), dtype=np.uint16).tofile(out)
    os.replace(file + ".part", file)


def drop(file: str) -> None:
    fd = os.open(file, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def nanogpt(file: str, length: int, batch: int) -> Callable[[], object]:
    """nanoGPT's get_batch (train.py), for the CPU."""
    import torch

    torch.set_num_threads(1)

    def get_batch() -> object:
        data = np.memmap(file, dtype=np.uint16, mode="r")
        ix = torch.randint(len(data) - length, (batch,))
        x = torch.stack([torch.from_numpy((data[i : i + length]).astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + length]).astype(np.int64)) for i in ix])
        return x, y

    return get_batch


def in_numpy(file: str, length: int, batch: int) -> Callable[[], object]:
    """Rows by an array of their beginnings, and widened: inputs and targets are views of the result."""
    windows = np.lib.stride_tricks.sliding_window_view(np.memmap(file, dtype=np.uint16, mode="r"), length + 1)
    random = np.random.default_rng()

    def take() -> object:
        rows = windows[random.integers(0, len(windows), batch)].astype(np.int64)
        return rows[:, :-1], rows[:, 1:]

    return take


def dataloader(file: str, length: int, batch: int, workers: int) -> Callable[[], object]:
    import torch

    class Tokens(torch.utils.data.Dataset):
        def __init__(self) -> None:
            self.data = np.memmap(file, dtype=np.uint16, mode="r")

        def __len__(self) -> int:
            return (len(self.data) - 1) // length

        def __getitem__(self, i: int) -> object:
            row = torch.from_numpy(self.data[i * length : (i + 1) * length + 1].astype(np.int64))
            return row[:-1], row[1:]

    loader = torch.utils.data.DataLoader(Tokens(), batch, shuffle=True, num_workers=workers, drop_last=True)

    def endless() -> Iterator[object]:
        while True:
            yield from loader

    batches = endless()
    return lambda: next(batches)


def millrace(file: str, length: int, batch: int, workers: int) -> Callable[[], object]:
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python"))
    import millrace

    source = {"tokens": {"path": file, "dtype": "u16", "format": "nanogpt", "length": length}}
    seed = int.from_bytes(os.urandom(3), "little")
    feed = millrace.Feed(
        {"source": source, "order": {"shuffle": "global", "seed": seed}, "batch": batch}, workers=workers
    )
    batches = iter(feed.torch())
    return lambda: next(batches)


def cpu_seconds() -> float:
    """Of this process, its threads and its children."""
    total, pids = 0.0, [os.getpid()]
    while pids:
        pid = pids.pop()
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as children:
                    pids += [int(child) for child in children.read().split()]
        except OSError:
            continue
    return total


def main() -> None:
    kind, file, *numbers = sys.argv[1:]
    if kind == "make":
        return make(file, int(numbers[0]))
    if kind == "drop":
        return drop(file)
    length, batch, workers = (int(n) for n in numbers[:3])
    seconds = float(numbers[3])
    if kind == "nanogpt":
        take = nanogpt(file, length, batch)
    elif kind == "numpy":
        take = in_numpy(file, length, batch)
    elif kind == "dataloader":
        take = dataloader(file, length, batch, workers)
    else:
        take = millrace(file, length, batch, workers)
    take()
    until = time.perf_counter() + WARM
    while time.perf_counter() < until:
        take()
    begun, cpu, rows = time.perf_counter(), cpu_seconds(), 0
    while (now := time.perf_counter()) - begun < seconds:
        take()
        rows += batch
    print(json.dumps({"rows": rows, "seconds": now - begun, "cpu": cpu_seconds() - cpu}), flush=True)
    os._exit(0)


main()
