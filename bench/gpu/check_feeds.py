"""The same feeds with images decoded by the CPU and by the GPU: the same samples, in the same order, with the
same choices, and pixels that differ by 2/255 on average at most. About 45 s.

    python3 bench/gpu/check_feeds.py --data DIR --out DIR
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from typing import Any, Callable

import numpy as np
import torch
from data import KINDS
from support import BATCH, CROP, STD, Result, arguments, definition, device_stats, on_device

import millrace

#: Mean absolute difference that is allowed, in pixels' units.
ALLOWED = 2 / 255
#: The tests' pictures that are refused by name.
REFUSED = ("lab-tif", "sequence-avif", "ycbcr-studio-tif", "ycbcr-unsaid-tif")
BATCHES = 16

EVERYTHING = [
    {"randomResizedCrop": {"size": 224, "filter": "bicubic"}},
    {"flip": {"p": 0.5}},
    {"flip": {"p": 0.3, "axis": "vertical"}},
    {"rotate": {"degrees": 20, "filter": "bilinear", "fill": [10, 20, 30]}},
    {"colorJitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}},
    {"grayscale": {"p": 0.2}},
    {"gaussianBlur": {"kernel": 9, "sigma": [0.1, 2]}},
    {"sharpness": {"factor": 2, "p": 0.5}},
    {"autocontrast": {"p": 0.3}},
    {"posterize": {"bits": 5, "p": 0.2}},
    {"solarize": {"threshold": 128, "p": 0.2}},
    {"equalize": {"p": 0.2}},
    {"invert": {"p": 0.2}},
    {"normalize": "imagenet"},
    {"randomErasing": {"p": 0.5, "value": "random"}},
]
PLACED = [
    {"resize": {"size": 256}},
    {"randomCrop": {"size": 240, "padding": 8, "mode": "reflect"}},
    {"affine": {"degrees": 10, "translate": [0.1, 0.1], "scale": [0.8, 1.2], "shear": 5}},
    {"pad": {"padding": 4, "mode": "edge"}},
    {"centerCrop": {"size": 224}},
    {"perspective": {}},
    {"elastic": {}},
    {"trivialAugment": {}},
    {"randAugment": {}},
    {"photometricDistort": {}},
    {"normalize": "imagenet"},
    {"randomErasing": {"p": 0.5, "value": [0.5, 0.2, 0.1]}},
]


class Wrong(Exception):
    """Two feeds differ."""


class Check:
    """One feed in both modes, batch by batch."""

    def __init__(self, args: Any) -> None:
        self.args = args
        self.batches = 3 if args.dry else BATCHES

    def both(self, feed: dict[str, Any], scale: Any = STD, bad: tuple[str, ...] = (), **view: Any) -> dict[str, Any]:
        """How far they are apart. ``scale``: what one unit of each channel is in pixels' units (0…1).
        ``bad``: parts of the ids of bad samples, where there are any.
        """
        options = dict(workers=self.args.workers, steps=self.batches, epochs=None)
        worst: list[Difference] = []
        with millrace.Feed(feed, **options) as one, millrace.Feed(feed, **options) as two:
            here = on_device(self.args, one, "cpu", **view)
            there = on_device(self.args, two, "gpu", **view)
            for step, (a, b) in enumerate(zip(here, there)):
                worst.append(compare(step, a, b, scale))
            told = device_stats(two)
            dropped = [sample_ids(one), sample_ids(two)]
        known = all(any(part in name for part in bad) for name in dropped[0])
        expected = bool(dropped[0]) == bool(bad) and known
        if dropped[0] != dropped[1] or not expected:
            raise Wrong(f"bad samples: {dropped[0]} with the CPU, {dropped[1]} with the GPU")
        if not self.args.dry and told.get("decode") != "gpu":
            raise Wrong(f"the GPU did not decode: {told}")
        if not worst:
            raise Wrong("no batches came")
        mean = float(np.average([d.mean for d in worst], weights=[d.rows for d in worst]))
        found = {"batches": len(worst), "mean255": mean * 255, "max255": max(d.most for d in worst) * 255}
        found["worstRow255"] = max(d.row for d in worst) * 255
        if bad:
            found["bad"] = len(dropped[0])
        if not mean <= ALLOWED:
            raise Wrong(f"mean absolute difference {mean * 255:.3f}/255 is more than 2/255: {found}")
        return found


def sample_ids(feed: Any) -> list[str]:
    """Of the bad samples so far."""
    bad = feed.stats()["bad"]
    if bad["count"] != len(bad["samples"]):
        raise Wrong(f"{bad['count']} bad samples, and {len(bad['samples'])} of them named")
    return sorted(sample["id"] for sample in bad["samples"])


class Difference:
    """Of the pictures of one batch, in pixels' units."""

    def __init__(self, a: torch.Tensor, b: torch.Tensor, scale: Any) -> None:
        apart = (a.double() - b.double()).abs()
        if isinstance(scale, tuple):
            axis = 1 if apart.shape[1] == 3 else -1
            shape = [1] * apart.ndim
            shape[axis] = 3
            apart = apart * torch.tensor(scale, device=apart.device, dtype=apart.dtype).view(shape)
        else:
            apart = apart * scale
        self.rows = len(apart)
        self.mean = apart.mean().item() if self.rows else 0.0
        self.row = apart.flatten(1).mean(1).max().item() if self.rows else 0.0
        self.most = apart.max().item() if self.rows else 0.0


def compare(step: int, a: Any, b: Any, scale: Any) -> Difference:
    """Everything but pixels is equal; those are as far apart as is returned."""
    for name in ("ids", "epoch", "count", "step", "position"):
        x, y = getattr(a, name), getattr(b, name)
        if x != y:
            raise Wrong(f"batch {step}: {name} {x!r} with the CPU, {y!r} with the GPU")
    for name in ("positions", "valid"):
        if not np.array_equal(np.asarray(getattr(a, name)), np.asarray(getattr(b, name))):
            raise Wrong(f"batch {step}: {name} differ")
    if set(a) != set(b):
        raise Wrong(f"fields {list(a)} with the CPU, {list(b)} with the GPU")
    for name in a:
        if name == "image":
            continue
        if not torch.equal(a[name], b[name]):
            raise Wrong(f"batch {step}: {name} differs")
    x, y = a["image"], b["image"]
    if (x.dtype, x.shape, x.stride(), x.device) != (y.dtype, y.shape, y.stride(), y.device):
        raise Wrong(
            f"image: {x.dtype} {list(x.shape)} {x.stride()} on {x.device} with the CPU, "
            f"{y.dtype} {list(y.shape)} {y.stride()} on {y.device} with the GPU"
        )
    return Difference(x, y, scale)


# ------------------------------------------------------------ cases


def cases(args: Any) -> dict[str, Callable[[Check], dict[str, Any]]]:
    """All of them, by name."""
    small, photos, odd = args.data / "small", args.data / "photos", args.data / "odd"
    plain = definition(small)

    def mixed(*operators: Any) -> dict[str, Any]:
        return definition(small, batch={"size": BATCH, "apply": list(operators)})

    def all_kinds(policy: str, **more: Any) -> dict[str, Any]:
        feed = definition(odd, batch={"size": 48, "last": "keep"}, **{"from": "jpg|png", **more})
        feed["fields"]["mask"] = {"from": "mask.png", "as": "mask", "follow": "image"}
        feed["onError"] = {"policy": policy, "budget": 1000}
        return feed

    def tests() -> dict[str, Any]:
        squeezed = [{"resize": {"size": [160, 200]}}, {"normalize": "imagenet"}]
        batch, kinds = {"size": 24, "last": "keep"}, {"from": "|".join(KINDS)}
        feed = definition(args.data / "golden", squeezed, batch, **kinds)
        feed["onError"] = {"policy": "drop", "budget": 1000}
        return feed

    def channels_last(check: Check) -> dict[str, Any]:
        if not args.dry:
            with millrace.Feed(plain, workers=args.workers, steps=1) as feed:
                for batch in on_device(args, feed, "gpu", channels_last=True):
                    image = batch["image"]
                    if list(image.shape) != [BATCH, 3, 224, 224] or not image.is_contiguous(
                        memory_format=torch.channels_last
                    ):
                        raise Wrong(f"channels_last: {list(image.shape)}, strides {image.stride()}")
        return check.both(plain, channels_last=True)

    u8 = definition(small, CROP, dtype="u8")
    half = {kind: definition(small, dtype=kind) for kind in ("f16", "bf16")}
    return {
        "crop, flip, normalise": lambda check: check.both(plain),
        "photographs": lambda check: check.both(definition(photos)),
        "everything": lambda check: check.both(definition(photos, EVERYTHING)),
        "placed, padded, turned": lambda check: check.both(definition(photos, PLACED)),
        "mixup": lambda check: check.both(mixed({"mixup": {"classes": 1000, "alpha": 0.2}})),
        "cutmix": lambda check: check.both(mixed({"cutmix": {"classes": 1000}})),
        "mosaic": lambda check: check.both(mixed({"mosaic": {}})),
        "mixup and cutmix": lambda check: check.both(
            mixed({"mixup": {"classes": 1000, "p": 0.7}}, {"cutmix": {"classes": 1000, "p": 0.7}})
        ),
        "channels_last": channels_last,
        "layout hwc": lambda check: check.both(definition(small, layout="hwc")),
        "u8": lambda check: check.both(u8, 1 / 255),
        "u8, channels_last": lambda check: check.both(u8, 1 / 255, channels_last=True),
        "f16": lambda check: check.both(half["f16"]),
        "bf16": lambda check: check.both(half["bf16"]),
        "odd pictures, bad ones dropped": lambda check: check.both(all_kinds("drop"), bad=("cut",)),
        "odd pictures, bad ones masked": lambda check: check.both(all_kinds("mask"), bad=("cut",)),
        "odd pictures, everything": lambda check: check.both(all_kinds("drop", apply=EVERYTHING), bad=("cut",)),
        "golden files": lambda check: check.both(tests(), bad=REFUSED),
        "cpu mode is exact": exact,
        "many batches, nobody waiting": many,
        "resumed in the other mode": resumed,
        "auto goes over within a loop": goes_over,
    }


def exact(check: Check) -> dict[str, Any]:
    """What is copied to the device is what the host has."""
    args = check.args
    options = dict(workers=args.workers, steps=6)
    feed = definition(args.data / "small")
    count = 0
    with millrace.Feed(feed, **options) as one, millrace.Feed(feed, **options) as two:
        for here, there in zip(one.numpy(), on_device(args, two, "cpu")):
            for name in here:
                if not np.array_equal(here[name], there[name].cpu().numpy()):
                    raise Wrong(f"batch {count}: {name} differs between host and device")
            count += 1
    return {"batches": count}


def many(check: Check) -> dict[str, Any]:
    """As fast as they come, in each mode: every label is the right one. A slot that were given back before the
    device has read it would show here.
    """
    args = check.args
    feed, steps = definition(args.data / "small"), 6 if args.dry else 300
    labels = {**feed, "fields": {"label": feed["fields"]["label"]}}
    with millrace.Feed(labels, workers=args.workers, steps=steps, epochs=None) as one:
        expected = [(batch.epoch, batch.position, batch["label"].copy()) for batch in one.numpy()]
    for decode in ("cpu", "gpu"):
        with millrace.Feed(feed, workers=args.workers, steps=steps, epochs=None) as two:
            found = [(b.epoch, b.position, b["label"].clone()) for b in on_device(args, two, decode)]
        same_samples(expected, found)
    return {"batches": 2 * steps}


def same_samples(expected: list[Any], found: list[Any]) -> None:
    """Two lists of (epoch, position, label)."""
    if len(expected) != len(found):
        raise Wrong(f"{len(found)} batches instead of {len(expected)}")
    for step, (a, b) in enumerate(zip(expected, found)):
        if a[:2] != b[:2]:
            raise Wrong(f"batch {step} is from epoch and position {b[:2]} instead of {a[:2]}")
        rows = np.flatnonzero(np.asarray(a[2]) != b[2].cpu().numpy())
        if len(rows):
            raise Wrong(f"batch {step} has other labels in {len(rows)} rows, {rows[:8].tolist()} for instance")


def resumed(check: Check) -> dict[str, Any]:
    """Half with one decoder, the rest with the other: the samples of a run with one."""
    args = check.args
    feed = definition(args.data / "small", batch=128)
    half = 2 if args.dry else 8
    with millrace.Feed(feed, workers=args.workers, steps=2 * half, epochs=None) as whole:
        expected = [(batch.ids, batch["label"].clone()) for batch in on_device(args, whole, "cpu")]
    for first, second in (("cpu", "gpu"), ("gpu", "cpu")):
        seen = []
        with millrace.Feed(feed, workers=args.workers, epochs=None) as one:
            for batch in on_device(args, one, first):
                seen.append((batch.ids, batch["label"].clone()))
                if len(seen) == half:
                    state = json.loads(json.dumps(one.state_dict()))
                    break
        with millrace.Feed(feed, workers=args.workers, steps=half, epochs=None, state=state) as two:
            seen += [(batch.ids, batch["label"].clone()) for batch in on_device(args, two, second)]
        for step, (a, b) in enumerate(zip(expected, seen)):
            if a[0] != b[0] or not torch.equal(a[1], b[1]):
                raise Wrong(f"{first}, then {second}: batch {step} has other samples")
        if len(seen) != len(expected):
            raise Wrong(f"{first}, then {second}: {len(seen)} batches instead of {len(expected)}")
    return {"batches": 2 * half}


def goes_over(check: Check) -> dict[str, Any]:
    """``auto`` without a trainer: the CPU is never fast enough, so the GPU is tried within the loop."""
    args = check.args
    feed = definition(args.data / "small")
    most = 6 if args.dry else 600
    begun, where = time.monotonic(), set()
    labels: list[Any] = []
    told: dict[str, Any] = {}
    with millrace.Feed(feed, workers=args.workers, epochs=None) as one:
        for step, batch in enumerate(on_device(args, one, None)):
            labels.append((batch.epoch, batch.position, batch["label"].clone()))
            if step % 10 == 0:
                told = device_stats(one)
                where.add(told.get("decode"))
                if told.get("deciding") is False and step > 40:
                    break
            if step + 1 == most or time.monotonic() - begun > 15:
                break
    with millrace.Feed(feed, workers=args.workers, epochs=None, steps=len(labels)) as two:
        again = [(b.epoch, b.position, b["label"].clone()) for b in on_device(args, two, "gpu")]
    same_samples([(epoch, position, label.cpu()) for epoch, position, label in labels], again)
    if not args.dry and "gpu" not in where:
        raise Wrong(f"the GPU was never tried: {told}")
    return {"batches": len(labels), "decoded by": sorted(map(str, where)), "why": told.get("why")}


def main() -> None:
    args = arguments(__doc__)
    result = Result(args, "check", "the same feeds decoded by the CPU and by the GPU")
    check, wrong = Check(args), 0
    found: dict[str, Any] = {}
    for name, case in cases(args).items():
        begun = time.monotonic()
        try:
            found[name] = {"ok": True, **case(check)}
        except Exception as error:  # noqa: BLE001  every case is looked at
            wrong += 1
            found[name] = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
            if not isinstance(error, Wrong):
                found[name]["trace"] = traceback.format_exc().splitlines()[-12:]
        found[name]["seconds"] = round(time.monotonic() - begun, 2)
        words = {key: value for key, value in found[name].items() if key != "trace"}
        print(f"{name}: {words}", flush=True)
        result.put("cases", found)
    result.done()
    print(f"{len(found) - wrong} of {len(found)} cases agree", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
