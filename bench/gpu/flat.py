"""2,000 steps of a small model with the GPU decoding: memory of device, trainer and engine stays where it is.

    python3 bench/gpu/flat.py --data DIR --out DIR        about 45 s
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import Any

import torch
from support import BATCH, Result, arguments, definition, engines, on_device, synchronize
from train import trainer

import millrace

STEPS, EVERY = 2_000, 200
#: What may come on top between the first look and the last, MiB: allocators take 2 at a time, heaps breathe.
DEVICE_MAY, TRAINER_MAY, ENGINE_MAY = 8, 64, 96


def resident(pid: int, kind: str = "VmRSS") -> float:
    """Memory of a process, MiB: all that is resident, or (RssAnon) without what is shared, such as slots."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(kind):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def device_memory() -> float:
    """In use on the device, by whomever, MiB."""
    if not torch.cuda.is_available():
        return 0.0
    free, total = torch.cuda.mem_get_info()
    return round((total - free) / 2**20, 1)


def main() -> None:
    args = arguments(__doc__)
    result = Result(args, "flat", "memory over 2,000 steps with the GPU decoding, MiB")
    mark = f"MILLRACE_GPU_MARK={uuid.uuid4().hex}"
    os.environ.update([mark.split("=")])
    steps, every = (40, 10) if args.dry else (STEPS, EVERY)
    step = trainer("tiny", "cpu" if args.dry else "cuda")
    looks: list[dict[str, Any]] = []
    begun = time.perf_counter()
    small, workers = definition(args.data / "small"), args.workers
    with millrace.Feed(small, workers=workers, epochs=None, steps=steps) as feed:
        for done, batch in enumerate(on_device(args, feed, "gpu"), 1):
            step(batch["image"], batch["label"])
            if done % every == 0:
                synchronize()
                looks.append(
                    {
                        "step": done,
                        "device": device_memory(),
                        "torch": round(torch.cuda.memory_allocated() / 2**20, 1),
                        "trainer": resident(os.getpid()),
                        "trainerAnon": resident(os.getpid(), "RssAnon"),
                        "engine": sum(map(resident, engines(mark))),
                    }
                )
                result.put("looks", looks)
                print(looks[-1], flush=True)
        seconds = time.perf_counter() - begun
        told = feed.stats()
    result.note("steps", steps * BATCH / seconds)
    growth = {name: round(looks[-1][name] - looks[0][name], 1) for name in ("device", "trainer", "engine")}
    result.put("growth", growth)
    result.put("device stats", told.get("device"))
    allowed = {"device": DEVICE_MAY, "trainer": TRAINER_MAY, "engine": ENGINE_MAY}
    flat = all(growth[name] <= most for name, most in allowed.items()) and told["batches"] == steps
    result.put("flat", flat)
    result.done()
    raise SystemExit(0 if flat else 1)


if __name__ == "__main__":
    main()
