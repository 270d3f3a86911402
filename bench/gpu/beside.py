"""nvJPEG beside a trainer: how long a call takes while the GPU trains, and what the trainer loses.

    python3 bench/gpu/beside.py --data DIR --out DIR   about 45 s

One call for every step of ResNet-18 on a cached batch, of 64 to 256 photographs as RGB; and of 128 in forms for
which nvJPEG needs no kernel of its own.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import torch
from data import pictures
from nvjpeg import Hardware
from support import BATCH, Result, Turns, arguments
from train import rate, there_already, trainer

STEPS, WARM = 60, 15
#: Pictures of a call, and the form in which they come.
CALLS = [(64, "rgbi"), (128, "rgbi"), (256, "rgbi"), (128, "yuv"), (128, "y")]
#: Seconds from one call to the next: as long as a step takes.
PACE = 0.0195


class Beside:
    """Decodes in a thread, at the pace of a trainer."""

    def __init__(self, decoder: Hardware) -> None:
        self._decoder = decoder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.calls: list[float] = []

    def _run(self) -> None:
        torch.cuda.set_device(0)
        while not self._over.is_set():
            begun = time.perf_counter()
            self._decoder.decode(len(self.calls))
            self.calls.append(time.perf_counter() - begun)
            self._over.wait(max(0.0, PACE - self.calls[-1]))

    def __enter__(self) -> "Beside":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def milliseconds(self) -> float:
        """Of a call, in the middle."""
        return round(1000 * sorted(self.calls)[len(self.calls) // 2], 1) if self.calls else 0.0


def measured(step: Any, jpegs: list[bytes], count: int, output: str) -> Any:
    """The trainer's rate beside it, and how long a call takes alone and beside the trainer."""
    decoder = Hardware(jpegs, 500, 375, count, output)
    try:
        alone = 1000 * count / decoder.rate(0.5)
        with Beside(decoder) as beside:
            trained = rate(there_already("cuda"), step, STEPS, WARM)
    finally:
        decoder.close()
    return trained, {"msAlone": round(alone, 1), "msBeside": beside.milliseconds}


def main() -> None:
    args = arguments(__doc__)
    result = Result(args, "beside", "nvJPEG beside ResNet-18 on a cached batch: the trainer's img/s")
    turns = Turns(args, result)
    if not args.dry:
        torch.backends.cudnn.benchmark = True
        step = trainer("resnet18", "cuda")
        jpegs = pictures(sorted((args.data / "photos").glob("*.tar")), 4 * BATCH)
        turns.take("nobody beside", lambda: rate(there_already("cuda"), step, STEPS, WARM))
        for count, output in CALLS:
            turns.take(f"{count} pictures, {output}", partial(measured, step, jpegs, count, output))
    result.done()


if __name__ == "__main__":
    main()
