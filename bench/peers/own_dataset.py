"""A user's own PyTorch Dataset with a Python augmentation: through Millrace, and through DataLoader.

The same object, as many processes, interleaved rounds; samples a second after four batches of warming up.

    python3 bench/peers/own_dataset.py [--rounds 5] [--seconds 3] [--save]
    python3 bench/peers/own_dataset.py --seeds     # what seeding costs a row
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import random
import statistics
import sys
import time
import timeit
from pathlib import Path

import numpy as np
import torch
import torchvision
from PIL import Image
from torchvision.transforms import v2

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import millrace  # noqa: E402
from millrace._data.worker_random import Seeds  # noqa: E402

BATCH = 64


class Jpegs(torch.utils.data.Dataset):
    """JPEGs of 256² in memory, decoded by PIL, augmented by torchvision."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.files = []
        for _ in range(64):
            picture = Image.fromarray(random.integers(0, 256, (32, 32, 3), dtype=np.uint8)).resize((256, 256))
            file = io.BytesIO()
            picture.save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())
        self.augment = v2.Compose(
            [
                v2.RandomResizedCrop(224),
                v2.RandomHorizontalFlip(),
                v2.PILToTensor(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            ]
        )

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, i: int):
        return self.augment(Image.open(io.BytesIO(self.files[i % 64])).convert("RGB")), i


def rate(batches, seconds: float) -> float:
    for _ in range(4):
        next(batches)
    begun = time.perf_counter()
    done = 0
    while time.perf_counter() - begun < seconds:
        next(batches)
        done += 1
    return done * BATCH / (time.perf_counter() - begun)


def ours(dataset, workers: int, seconds: float) -> float:
    with millrace.dataset(dataset).shuffle(seed=1).batch(BATCH).open(workers=workers, epochs=None) as feed:
        return rate(iter(feed.torch()), seconds)


def theirs(dataset, workers: int, seconds: float) -> float:
    return rate(iter(torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers)), seconds)


def seeds() -> None:
    """Times of seeding all generators once: the global ones, and with those that a dataset holds."""
    held = {"numpy": np.random.default_rng(), "random": random.Random(), "torch": torch.Generator()}
    for names in ((), ("numpy",), ("random",), ("torch",), ("numpy", "random")):
        seed = Seeds([held[name] for name in names])
        times = timeit.repeat(lambda: seed(2**127 + 1), number=100, repeat=1000)  # noqa: B023
        print(f"random, numpy, torch{''.join(f' + {name}' for name in names)}: {min(times) * 1e4:.1f} µs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--seeds", action="store_true")
    args = parser.parse_args()
    if args.seeds:
        return seeds()
    torch.set_num_threads(1)
    dataset = Jpegs()
    results: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        for workers in (1, os.cpu_count() or 2):
            for name, run in (("millrace", ours), ("DataLoader", theirs)):
                value = run(dataset, workers, args.seconds)
                results.setdefault(f"{name}, {workers} processes", []).append(value)
                print(f"{name}, {workers} processes: {value:.0f} samples/s", flush=True)
    report = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": f"{os.cpu_count()} cores, Linux {platform.release()}",
        "versions": {"torch": torch.__version__, "torchvision": torchvision.__version__},
        "command": f"python3 bench/peers/own_dataset.py --rounds {args.rounds} --seconds {args.seconds}",
        "what": "JPEG by PIL + torchvision v2 in __getitem__, batches of 64; samples/s",
        "results": {k: {"median": statistics.median(v), "values": v} for k, v in results.items()},
    }
    print(json.dumps(report, indent=2))
    if args.save:
        (ROOT / "bench/results/own-dataset.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
