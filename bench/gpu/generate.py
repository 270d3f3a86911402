"""Batches that are made on the GPU: right first, then how fast, alone and under a ResNet. About 60 s.

    python3 bench/gpu/generate.py --data DIR --out DIR

    right     the same rows in two runs, after a resume in the middle, and on two ranks together;
              synthetic tensors are, byte for byte, those of the CPU
    rates     a kernel of the user's (examples/generate) and synthetic tensors, f32 chw 224²: images a second
    training  ResNet-18 on them, and on one batch that is there already
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Optional

import torch
from support import BATCH, Result, Turns, arguments, on_device, rate_for
from train import rate, there_already, trainer

import millrace

#: Of a feed whose JSON names a kernel.
open_feed = partial(millrace.Feed, allow_code=True)
STRIPES = Path(__file__).resolve().parents[2] / "examples" / "generate" / "stripes.json"
SHAPE = [3, 224, 224]
#: Images a second that generating has to reach.
BAR = 40_000
SECONDS = 3.0
MODEL, STEPS, WARM = "resnet18", 150, 20
#: Batches that are compared.
COMPARED = 6


def synthetic(dtype: str = "f32", count: int = 100_000) -> dict[str, Any]:
    """Tensors of the shape of pictures: the ceiling of whatever a feed could bring."""
    return {
        "source": {"synthetic": {"count": count, "seed": 3, "tensors": {"shape": SHAPE, "dtype": dtype}}},
        "order": {"shuffle": "global", "seed": 7},
        "fields": {"image": {"from": "data", "as": "npy", "dtype": dtype, "shape": SHAPE}},
        "batch": BATCH,
    }


# ------------------------------------------------------------ right


def taken(feed: Any, batches: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Some batches of a loop, kept."""
    found = []
    for batch in feed.torch(device="cuda"):
        found.append((batch["image"].clone(), batch["label"].clone()))
        if len(found) == batches:
            break
    return found


def same(left: list[Any], right: list[Any]) -> bool:
    """Whether they are equal to the last bit."""
    both = [tensors for pair in zip(left, right) for tensors in zip(*pair)]
    return len(left) == len(right) and all(torch.equal(bits(one), bits(other)) for one, other in both)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Its bytes: NaN is equal to itself, and -0 is not 0."""
    return tensor.view(torch.uint8)


def deterministic() -> dict[str, bool]:
    """The same pictures, however one comes to them."""
    with open_feed(STRIPES) as feed:
        whole = taken(feed, COMPARED)
    with open_feed(STRIPES, workers=1) as feed:
        again = taken(feed, COMPARED)
    half = COMPARED // 2
    with open_feed(STRIPES) as feed:
        before = []
        for batch in feed.torch(device="cuda"):
            before.append((batch["image"].clone(), batch["label"].clone()))
            if len(before) == half:
                state = feed.state_dict()
                break
    with open_feed(STRIPES, state=state) as feed:
        resumed = before + taken(feed, COMPARED - half)
    ranks = []
    for rank in range(2):
        with open_feed(STRIPES, rank=rank, world=2) as feed:
            ranks.append(taken(feed, half))
    joined = [batch for pair in zip(*ranks) for batch in pair]
    images = torch.cat([image for image, _ in whole])
    labels = torch.cat([label for _, label in whole])
    return {
        "two runs": same(whole, again),
        "a resume in the middle": same(whole, resumed),
        "two ranks": same(whole, joined),
        # Not the same picture again and again, and not nothing.
        "pictures differ": len(torch.unique(images.flatten(1)[:, ::997].double().sum(1))) == len(images),
        "they are pictures": bool(0.3 < images.std() < 1.5 and images.mean().abs() < 0.1),
        "all classes": torch.unique(labels).tolist() == list(range(10)),
    }


def as_on_the_cpu() -> dict[str, bool]:
    """Synthetic tensors from the device and from the engine's threads."""
    found = {}
    for dtype in ("u8", "i16", "i64", "f16", "f32", "f64"):
        feed = synthetic(dtype, 2_000)
        with open_feed(feed, steps=2) as here, open_feed(feed, steps=2) as there:
            both = zip(here.torch(), there.torch(device="cuda", decode="gpu"))
            found[dtype] = all(torch.equal(bits(cpu["image"]), bits(gpu["image"].cpu())) for cpu, gpu in both)
    return found


# ------------------------------------------------------------ fast


def rate_of(args: Any, feed: Any, decode: Optional[str]) -> float:
    """How fast batches come when nobody trains."""
    with open_feed(feed, epochs=None, depth=8) as one:
        more = {} if args.dry else {"prefetch": 4}
        seconds, warm = (0.5, 4) if args.dry else (SECONDS, 50)
        return rate_for(on_device(args, one, decode, **more), seconds, warm)


def pairs(batches: Any, labels: Optional[torch.Tensor]) -> Iterator[Any]:
    """Images and labels; where a feed has none, the given ones."""
    for batch in batches:
        yield batch["image"], batch["label"] if labels is None else labels


def trained(feed: Any, decode: Optional[str], labels: Optional[torch.Tensor]) -> float:
    """The training rate on a feed."""
    with open_feed(feed, epochs=None, depth=8) as one:
        batches = one.torch(device="cuda", **({} if decode is None else {"decode": decode}))
        return rate(pairs(batches, labels), trainer(MODEL, "cuda"), STEPS, WARM)


def main() -> None:
    args = arguments(__doc__)
    result = Result(args, "generate", "batches made on the GPU: f32 224², alone and under ResNet-18, img/s")
    turns = Turns(args, result)
    if args.dry:
        turns.take("synthetic tensors", partial(rate_of, args, synthetic(), None))
        result.put("left out", ["all that needs a GPU"])
        return result.done()
    result.put("right", {**deterministic(), **{f"synthetic {k}": v for k, v in as_on_the_cpu().items()}})
    result.say(f"right: {result.found['right']}")
    labels = torch.randint(0, 1000, (BATCH,), device="cuda")
    for _ in range(args.rounds):
        turns.take("kernel", partial(rate_of, args, STRIPES, None))
        turns.take("synthetic tensors", partial(rate_of, args, synthetic(), "gpu"))
        there = partial(rate, there_already("cuda"), trainer(MODEL, "cuda"), STEPS, WARM)
        turns.take(f"{MODEL}, there already", there)
        turns.take(f"{MODEL}, kernel", partial(trained, STRIPES, None, None))
        turns.take(f"{MODEL}, synthetic tensors", partial(trained, synthetic(), "gpu", labels))
    reached = result.found["results"].get("kernel", {}).get("median", 0.0)
    result.put("bar", {"kernel": BAR, "reached": reached >= BAR})
    result.put("all right", all(result.found["right"].values()))
    result.done()


if __name__ == "__main__":
    main()
