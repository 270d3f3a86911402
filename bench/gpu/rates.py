"""How fast a feed comes to the device when nobody trains: images a second, 224², batch 256.

    python3 bench/gpu/rates.py cpu --data DIR --out DIR   the CPU decodes: u8 and f32; about 60 s
    python3 bench/gpu/rates.py gpu --data DIR --out DIR   the GPU decodes: f32, and nvJPEG by itself; 65 s
"""

from __future__ import annotations

from functools import partial
from typing import Any

from data import SETS, pictures
from support import BATCH, CROP, Result, Turns, arguments, definition, on_device, rate_for

import millrace

SECONDS = 2.5


def fed(args: Any, feed: dict[str, Any], decode: str, workers: int) -> Any:
    """A feed's rate on the device."""
    with millrace.Feed(feed, workers=workers, depth=8, epochs=None) as one:
        more = {} if args.dry else {"prefetch": 4}
        seconds, warm = (0.5, 4) if args.dry else (SECONDS, 20)
        value = rate_for(on_device(args, one, decode, **more), seconds, warm)
        stats = one.stats()
    told = stats.get("device", {})
    if not args.dry and told.get("decode") != decode:
        raise RuntimeError(f"decode={decode!r} was asked for, and this is what happened: {told}")
    return value, {"firstBatchMs": round(stats["firstBatchMs"])}


def by_cpu(args: Any) -> None:
    result = Result(args, "cpu", "the CPU decodes, finished pictures go to the GPU: no training, img/s")
    turns = Turns(args, result)
    u8, f32 = definition(args.data / "small", CROP, dtype="u8"), definition(args.data / "small")
    counts = sorted({args.workers, args.cores})
    for _ in range(args.rounds):
        for workers in counts:
            turns.take(f"u8, {workers} workers", partial(fed, args, u8, "cpu", workers))
            turns.take(f"f32, {workers} workers", partial(fed, args, f32, "cpu", workers))
    photographs, workers = definition(args.data / "photos"), args.workers
    turns.take(f"photographs, f32, {workers} workers", partial(fed, args, photographs, "cpu", workers))
    result.done()


def by_gpu(args: Any) -> None:
    result = Result(args, "gpu", "the GPU decodes: f32 chw on the device, no training, img/s")
    turns = Turns(args, result)
    alone: dict[str, Any] = {}

    def ceiling(name: str) -> float:
        from nvjpeg import Hardware

        if name not in alone:
            _, width, height, _ = SETS[name]
            shards = sorted((args.data / name).glob("*.tar"))
            alone[name] = Hardware(pictures(shards, 16 * BATCH), width, height, BATCH)
        return alone[name].rate(SECONDS)

    for turn in range(args.rounds):
        for name, words in (("small", ""), ("photos", "photographs, ")):
            if name == "photos" and turn == 2:
                continue
            feed = definition(args.data / name)
            if not args.dry:
                turns.take(f"{words}nvJPEG by itself", partial(ceiling, name))
            for workers in (args.workers, 4, 2, 1) if name == "small" and turn < 2 else (args.workers,):
                turns.take(f"{words}f32, {workers} workers", partial(fed, args, feed, "gpu", workers))
    for decoder in alone.values():
        decoder.close()
    result.done()


if __name__ == "__main__":
    given = arguments(__doc__, lambda parser: parser.add_argument("mode", choices=("cpu", "gpu")))
    (by_cpu if given.mode == "cpu" else by_gpu)(given)
