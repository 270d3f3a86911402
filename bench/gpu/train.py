"""ResNets on a GPU: what they eat when the data is there already, and what they get from a feed.

Every contender runs in this process, one after the other, in interleaved rounds. Prints one JSON object.

    python3 bench/gpu/train.py --shards 'DIR/bench-*.tar' --files DIR --workers 14 --out result.json
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time

import torch
import torchvision
from torchvision.transforms import v2

import millrace

BATCH = 256


def trainer(name: str):
    """One training step of a model in bf16, channels last."""
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)(num_classes=1000).cuda().to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()

    def step(image: torch.Tensor, label: torch.Tensor) -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(model(image.contiguous(memory_format=torch.channels_last)), label)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return step


def rate(batches, step, steps: int, warm: int = 10) -> float:
    """Images a second, after warming up, to the end of the last step on the GPU."""
    begun = 0.0
    done = 0
    for image, label in batches:
        if done == warm:
            torch.cuda.synchronize()
            begun = time.perf_counter()
        if step is not None:
            step(image, label)
        done += 1
        if done == warm + steps:
            break
    torch.cuda.synchronize()
    return (done - warm) * BATCH / (time.perf_counter() - begun)


def there_already():
    image = torch.rand(BATCH, 3, 224, 224, device="cuda")
    label = torch.randint(0, 1000, (BATCH,), device="cuda")
    while True:
        yield image, label


def definition(shards: str) -> dict:
    crop = [{"randomResizedCrop": {"size": 224}}, {"flip": {"p": 0.5}}, {"normalize": "imagenet"}]
    return {
        "source": {"tar": shards},
        "order": {"shuffle": "global", "seed": 1},
        "fields": {"image": {"from": "jpg", "as": "image", "apply": crop}, "label": {"from": "cls", "as": "int"}},
        "batch": BATCH,
    }


def fed(args, step, steps: int) -> float:
    with millrace.Feed(definition(args.shards), workers=args.workers, depth=6, epochs=None) as feed:
        batches = ((batch["image"], batch["label"]) for batch in feed.torch(device="cuda", prefetch=3))
        return rate(batches, step, steps)


def loaded(args, step, steps: int) -> float:
    transform = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop(224, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    folder = torchvision.datasets.ImageFolder(args.files, transform)
    loader = torch.utils.data.DataLoader(
        folder, BATCH, shuffle=True, num_workers=args.cores, pin_memory=True, drop_last=True, persistent_workers=True
    )

    def batches():
        while True:
            for image, label in loader:
                yield image.cuda(non_blocking=True), label.cuda(non_blocking=True)

    # Workers fill their queues (two batches each) while the first ones are awaited: that stock must be used up first.
    return rate(batches(), step, steps, warm=3 * args.cores)


def same_bytes(args) -> bool:
    """What arrives on the GPU is what the host has."""
    options = dict(workers=args.workers, depth=4, steps=6)
    with millrace.Feed(definition(args.shards), **options) as host, millrace.Feed(definition(args.shards), **options) as device:
        for here, there in zip(host.numpy(), device.torch(device="cuda")):
            if not torch.equal(torch.from_numpy(here["image"].copy()), there["image"].cpu()):
                return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", required=True)
    parser.add_argument("--files", required=True, help="the same pictures as an image folder")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--out", default="gpu.json")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    contenders: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        contenders.setdefault(name, []).append(value)
        print(f"{name}: {value:,.0f} img/s", flush=True)

    result = {"same_bytes": same_bytes(args)}
    print(result, flush=True)
    steps = {name: trainer(name) for name in ("resnet50", "resnet18")}
    for _ in range(args.rounds):
        note("feed to GPU, no training", fed(args, None, args.steps))
        for name, step in steps.items():
            note(f"{name}, data there already", rate(there_already(), step, args.steps))
            note(f"{name}, millrace", fed(args, step, args.steps))
    for name, step in steps.items():
        note(f"{name}, DataLoader", loaded(args, step, args.steps))
    result |= {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": f"{torch.cuda.get_device_name()}, {args.cores} cores",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "torchvision": torchvision.__version__},
        "what": f"224² JPEG, randomResizedCrop + flip + normalise → f32 on the GPU, batch {BATCH}, {args.workers} workers, page cache warm; img/s",
        "results": {k: {"median": statistics.median(v), "values": v} for k, v in contenders.items()},
    }
    with open(args.out, "w") as file:
        json.dump(result, file, indent=2)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
