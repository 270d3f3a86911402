"""Measures one carrier of transport.py, in its own process."""

import os
import time

import meter

# The rate is that of full queues: the first arrays only fill them.
WARM_UP = 16


def carry(carrier, size, touch, seconds):
    completed = getattr(carrier, "completed", None)
    me = os.getpid()
    stream = carrier.arrays(size)
    for _ in range(WARM_UP):
        array = next(stream)
    if array.nbytes != size:
        raise ValueError(f"an array has {array.nbytes} bytes, not {size}")
    waits = []
    cpu, machine = meter.cpu_seconds(me), meter.machine_cpu_seconds()
    begun = time.perf_counter()
    count = 0
    while (passed := time.perf_counter() - begun) < seconds:
        asked = time.monotonic()
        array = next(stream)
        if completed and not touch:
            held, done = time.monotonic(), completed(array)
            # A batch that was there before it was asked for tells nothing about the way it came.
            if done > asked:
                waits.append((held - done) * 1e6)
        if touch:
            array.reshape(-1).view("u8").sum()
        count += 1
    cpu, machine = meter.cpu_seconds(me) - cpu, meter.machine_cpu_seconds() - machine
    # Views of what is about to be unmapped must not outlive it.
    del array
    stream.close()
    gigabytes = count * size / 1e9
    return {
        "gigabytesPerSecond": gigabytes / passed,
        "cpuSecondsPerGigabyte": cpu / gigabytes,
        "coresUsedByOthers": max(0, machine - cpu) / passed,
        "arrays": count,
        "latency": percentiles(sorted(waits)),
    }


def percentiles(values):
    if len(values) < 20:
        return None
    return {"p50": values[len(values) // 2], "p99": values[len(values) * 99 // 100], "count": len(values)}
