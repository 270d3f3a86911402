"""ResNets on a GPU: what they eat when the data is there already, and what they get from feeds.

Every contender runs in this process, one after the other, in interleaved rounds; PyTorch's DataLoader once.

    python3 bench/gpu/train.py train --data DIR --out DIR     224², all cores; about 170 s
    python3 bench/gpu/train.py cores --data DIR --out DIR     the engine has 4 and 8 threads; about 110 s
    python3 bench/gpu/train.py photos --data DIR --out DIR    500×375, all cores; about 150 s
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional

import torch
import torchvision
from support import BATCH, MEAN, STD, Result, Turns, arguments, decisions, definition, device_stats
from support import on_device, synchronize
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

import millrace

Step = Callable[[torch.Tensor, torch.Tensor], None]
#: model: steps that are measured.
MODELS = {"resnet50": 80, "resnet18": 100}
#: Steps before measuring begins: what was made ahead is used up, or the queues are full.
WARM = 15
#: Seconds that ``auto`` may take to decide.
DECIDING = 60.0


def trainer(name: str, device: str) -> Step:
    """One training step of a model in bf16, channels last."""
    torch.manual_seed(0)
    if name == "tiny":
        model = torch.nn.Sequential(torch.nn.AvgPool2d(32), torch.nn.Flatten(), torch.nn.Linear(147, 1000))
    else:
        model = getattr(torchvision.models, name)(num_classes=1000)
    model = model.to(device, memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()

    def step(image: torch.Tensor, label: torch.Tensor) -> None:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_of(model(image.contiguous(memory_format=torch.channels_last)), label)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return step


def rate(batches: Iterator[Any], step: Step, steps: int, warm: int) -> float:
    """Images a second after warming up, to the end of the last step on the GPU."""
    begun = 0.0
    for done, (image, label) in enumerate(batches):
        if done == warm:
            synchronize()
            begun = time.perf_counter()
        step(image, label)
        if done + 1 == warm + steps:
            break
    synchronize()
    return steps * BATCH / (time.perf_counter() - begun)


def there_already(device: str) -> Iterator[Any]:
    """One batch that never leaves the device."""
    image = torch.rand(BATCH, 3, 224, 224, device=device)
    label = torch.randint(0, 1000, (BATCH,), device=device)
    while True:
        yield image, label


def fed(
    args: Any, shards: Path, step: Step, steps: int, decode: Optional[str], workers: Optional[int]
) -> Any:
    """A feed's training rate; ``decode`` and ``workers`` None: nothing is said about them."""
    warm = 1 if args.dry else WARM
    options: dict[str, Any] = {} if workers is None else {"workers": workers}
    log = Path(tempfile.mkdtemp()) if decode is None else None
    with millrace.Feed(definition(shards), epochs=None, log=log, **options) as feed:
        opened = time.perf_counter()
        begun, first, settled, before = 0.0, 0, None, {}
        for done, batch in enumerate(on_device(args, feed, decode)):
            if settled is None and done % 5 == 0 and (decode or decided(feed) or late(opened)):
                settled = done
            if settled is not None and not begun and done >= settled + warm:
                before = device_stats(feed)
                synchronize()
                begun, first = time.perf_counter(), done
            step(batch["image"], batch["label"])
            if begun and done + 1 == first + steps:
                break
        synchronize()
        value = steps * BATCH / (time.perf_counter() - begun)
        after = device_stats(feed)
    found = seen(before, after, settled or 0)
    return value, found if log is None else {**found, "decisions": decisions(log)}


def decided(feed: Any) -> bool:
    """Whether it is known who decodes."""
    return not device_stats(feed).get("deciding", False)


def late(opened: float) -> bool:
    """Whether deciding takes too long."""
    return time.perf_counter() - opened > DECIDING


def seen(before: dict[str, Any], after: dict[str, Any], settled: int) -> dict[str, Any]:
    """What the feed says about the time that was measured."""
    if not after:
        return {}
    measured = after["ms"] - before["ms"]
    waited = (after["waitMs"] - before["waitMs"]) / measured if measured > 0 else None
    found = {"waited": waited, "decode": after["decode"], "why": after["why"], "settledAfterSteps": settled}
    if after["deciding"] or before["decode"] != after["decode"]:
        found["undecided"] = True
    return found


class Decoded:
    """A file as torchvision's own decoder has it: the faster of the two ways its documentation shows."""

    def __call__(self, path: str) -> torch.Tensor:
        return decode_image(path, mode=ImageReadMode.RGB)


def loaded(args: Any, files: Path, step: Step, steps: int, device: str) -> float:
    """The training rate with PyTorch's DataLoader."""
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(224, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD, inplace=True),
        ]
    )
    folder = torchvision.datasets.ImageFolder(str(files), transform, loader=Decoded())
    workers = min(args.cores, 2) if args.dry else args.cores
    loader = torch.utils.data.DataLoader(
        folder,
        BATCH,
        shuffle=True,
        num_workers=workers,
        pin_memory=not args.dry,
        drop_last=True,
        persistent_workers=True,
    )

    def batches() -> Iterator[Any]:
        while True:
            for image, label in loader:
                yield image.to(device, non_blocking=True), label.to(device, non_blocking=True)

    # Workers fill their queues, two batches each, while the first ones are awaited: they are emptied first.
    return rate(batches(), step, steps, warm=2 * workers + 4)


def main() -> None:
    parts = ("train", "cores", "photos")
    args = arguments(__doc__, lambda parser: parser.add_argument("part", choices=parts))
    data = "photos" if args.part == "photos" else "small"
    shards, files = args.data / data, args.data / f"{data}-files"
    size = "500×375, about 100 kB" if data == "photos" else "224², about 30 kB"
    limited = ", the engine limited to 4 and 8 threads" if args.part == "cores" else ""
    work = f"randomResizedCrop, flip, normalise → f32, batch {BATCH}, bf16{limited}"
    result = Result(args, args.part, f"training on JPEGs of {size}: {work}; img/s")
    turns = Turns(args, result)
    device = "cpu" if args.dry else "cuda"
    torch.backends.cudnn.benchmark = True
    models = {"tiny": 4} if args.dry else MODELS
    steps = {name: trainer(name, device) for name in models}
    if not args.dry:
        for step in steps.values():
            rate(there_already(device), step, 20, 5)  # algorithms are chosen, clocks go up

    for turn in range(args.rounds):
        for name, count in models.items():
            step = steps[name]
            cached = partial(rate, there_already(device), step, count, 1 if args.dry else WARM)
            turns.take(f"{name}, cached", cached)
            for workers in (4, 8) if args.part == "cores" else (None,):
                words = "" if workers is None else f", {workers} workers"
                for mode in ("auto", "cpu", "gpu"):
                    if turn > 0 and mode != "auto" and args.part != "train":
                        continue
                    asked = None if mode == "auto" else mode
                    threads = workers if workers or mode == "auto" else args.workers
                    run = partial(fed, args, shards, step, count, asked, threads)
                    turns.take(f"{name}, {mode}{words}", run)
            if turn == 0 and args.part != "cores":
                short = partial(loaded, args, files, step, 4 if args.dry else 30, device)
                turns.take(f"{name}, DataLoader", short)
    result.done()


if __name__ == "__main__":
    main()
