"""Does a feed that begins badly tune itself while a GPU trains? ResNet-18, first with a batch that never leaves the GPU,
then fed: begun with two workers, whether or not those may be tuned, and with nothing said; then the cached batch again.

    python3 bench/gpu/tune.py --data DIR --out DIR     about 350 s
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from support import BATCH, Result, Turns, arguments, decisions, definition, device_stats, on_device
from support import synchronize
from train import WARM, rate, there_already, trainer

import millrace

#: How each run begins: the options that are given.
STARTS: dict[str, dict[str, Any]] = {
    "two workers": {"workers": 2},
    "two workers to begin with": {"workers": 2, "tune": "all"},
    "two workers to begin with, CPU decodes": {"workers": 2, "tune": "all"},
    "nothing said": {},
}
#: Seconds of training, and those at the end that count.
SECONDS, LAST = 75.0, 15.0
STEPS = 150


def tuned(args: Any, shards: Path, step: Any, name: str) -> Any:
    """The rate of the last seconds, and what happened until then."""
    options, decode = STARTS[name], "cpu" if "CPU" in name else None
    seconds, last = (6.0, 2.0) if args.dry else (SECONDS, LAST)
    log = args.out / f"tune-{name.replace(' ', '-').replace(',', '')}"
    marks: list[tuple[float, int]] = []
    with millrace.Feed(definition(shards), epochs=None, log=log, **options) as feed:
        begun = time.perf_counter()
        for done, batch in enumerate(on_device(args, feed, decode)):
            step(batch["image"], batch["label"])
            if done % 10 == 0:
                synchronize()
                marks.append((time.perf_counter() - begun, done + 1))
                if marks[-1][0] > seconds:
                    break
        synchronize()
        stats = feed.stats()
        found = device_stats(feed)
    counted = [mark for mark in marks if mark[0] > seconds - last]
    (from_, before), (to, after) = counted[0], counted[-1]
    about = {
        "seconds": [round(at, 2) for at, _ in marks],
        "images": [number * BATCH for _, number in marks],
        "workers": stats.get("workers"),
        "depth": stats.get("depth"),
        "decode": found.get("decode"),
        "why": found.get("why"),
        "decisions": decisions(log),
    }
    return (after - before) * BATCH / (to - from_), about


def main() -> None:
    args = arguments(__doc__)
    shards = args.data / "small"
    result = Result(args, "tune", f"ResNet-18 on JPEGs of 224², batch {BATCH}, bf16, while feeds tune themselves; img/s")
    turns = Turns(args, result)
    device = "cpu" if args.dry else "cuda"
    torch.backends.cudnn.benchmark = True
    step = trainer("tiny" if args.dry else "resnet18", device)
    rate(there_already(device), step, 4 if args.dry else 20, 1 if args.dry else 5)
    cached = partial(rate, there_already(device), step, 4 if args.dry else STEPS, 1 if args.dry else WARM)
    turns.take("resnet18, cached", cached)
    for name in STARTS:
        turns.take(f"resnet18, {name}", partial(tuned, args, shards, step, name))
        turns.take("resnet18, cached", cached)
    result.done()


if __name__ == "__main__":
    main()
