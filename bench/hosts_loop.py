"""One run of bench/hosts.mjs in Python: FEED WORKERS DEPTH SECONDS. Prints its rate, and the CPU time of a batch."""

import json
import resource
import sys
import time

import numpy as np

import millrace
from millrace._client import process

WARM = 40


def cpu(pid: int) -> float:
    """CPU seconds of this process and of a child."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return own.ru_utime + own.ru_stime + (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    feed, workers, depth, seconds = sys.argv[1:]
    rows, seen, begun, before = 0, 0, 0.0, 0.0
    with millrace.Feed(json.loads(feed), workers=int(workers), depth=int(depth), epochs=None) as loader:
        (engine,) = process._started
        for done, batch in enumerate(loader.numpy()):
            if done == WARM:
                begun, before = time.perf_counter(), cpu(engine)
            image = batch["image"]
            seen |= int(np.bitwise_or.reduce(image.view(np.uint8).reshape(-1)[::4096]))
            if begun:
                rows += len(image)
            if begun and time.perf_counter() - begun > float(seconds):
                break
        used = cpu(engine) - before
        rate = rows / (time.perf_counter() - begun)
    if not seen:
        raise SystemExit("the batches are empty")
    print(json.dumps({"rate": rate, "cpuMs": used * 1000 / (rows / 256)}))


main()
