"""Photographs of mixed kinds: what a few progressive, grey, CMYK and 4:4:4 JPEGs cost where the GPU decodes.

    python3 bench/gpu/mixed.py --data DIR --out DIR     about 170 s

First without training, GPU mode, each mixture of mixtures.py; then ResNet-18 on a cached batch and on feeds.
"""

from __future__ import annotations

from functools import partial

import mixtures
import rates
import torch
from support import Result, Turns, arguments, definition
from train import fed, rate, there_already, trainer

WARM, STEPS = 15, 100
#: Mixtures that ResNet-18 is trained on, and who decodes; None: nothing is said.
TRAINED = (
    ("mixed-420", None), ("mixed-all", None), ("mixed-all", "cpu"), ("mixed-all", "gpu"),
    ("mixed-progressive-30", None), ("mixed-progressive-30", "cpu"), ("mixed-progressive-30", "gpu"),
)  # fmt: skip


def main() -> None:
    args = arguments(__doc__)
    mixtures.make(args.data, args.dry)
    words = f"photographs of {mixtures.LEAST} to {mixtures.MOST} px, of mixed kinds"
    result = Result(args, "mixed", f"{words}: f32 chw on the device; img/s")
    turns = Turns(args, result)
    for turn in range(args.rounds):
        for name in mixtures.MIXTURES:
            feed = definition(args.data / name)
            if turn < 2:
                turns.take(
                    f"{name}, GPU decodes",
                    partial(rates.fed, args, feed, "gpu", args.workers),
                )
            if turn == 0:
                turns.take(
                    f"{name}, CPU decodes",
                    partial(rates.fed, args, feed, "cpu", args.workers),
                )
    device = "cpu" if args.dry else "cuda"
    torch.backends.cudnn.benchmark = True
    step = trainer("tiny" if args.dry else "resnet18", device)
    steps, warm = (4, 1) if args.dry else (STEPS, WARM)
    for turn in range(args.rounds):
        turns.take("resnet18, cached", partial(rate, there_already(device), step, steps, warm))
        for name, decode in TRAINED:
            if turn > 0 and decode is not None:
                continue
            run = partial(fed, args, args.data / name, step, steps, decode, None)
            turns.take(f"resnet18, {name}, {decode or 'auto'}", run)
    result.done()


if __name__ == "__main__":
    main()
