"""A feed into a jitted training step of JAX, without a copy: arrays lie where the device stage wrote. 40 s.

    python3 bench/gpu/jax_feed.py --data DIR --out DIR
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support import BATCH, STD, Result, Turns, arguments, definition

import millrace

PATCH, WIDTH, CLASSES = 16, 512, 1000


def parameters() -> Any:
    """Of a small network: patches, two layers, the mean of them, classes."""
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    sizes = ((3 * PATCH * PATCH, WIDTH), (WIDTH, WIDTH), (WIDTH, CLASSES))
    return [jax.random.normal(key, size, jnp.bfloat16) / size[0] ** 0.5 for key, size in zip(keys, sizes)]


def loss(weights: Any, image: Any, label: Any) -> Any:
    """Cross entropy."""
    count, channels, height, width = image.shape
    tiles = image.reshape(count, channels, height // PATCH, PATCH, width // PATCH, PATCH)
    patches = tiles.transpose(0, 2, 4, 1, 3, 5).reshape(count, -1, channels * PATCH * PATCH)
    patches = patches.astype(jnp.bfloat16)
    hidden = jax.nn.gelu(jax.nn.gelu(patches @ weights[0]) @ weights[1]).mean(1)
    scores = jax.nn.log_softmax((hidden @ weights[2]).astype(jnp.float32))
    return -jnp.take_along_axis(scores, label[:, None].astype(jnp.int32), 1).mean()


@jax.jit
def step(weights: Any, image: Any, label: Any) -> Any:
    """One step of SGD."""
    slopes = jax.grad(loss)(weights, image, label)
    return [weight - 0.01 * slope for weight, slope in zip(weights, slopes)]


def arrays(args: Any, feed: Any, decode: str) -> Any:
    """The feed's batches on the GPU."""
    return feed.jax() if args.dry else feed.jax(device=jax.devices()[0], decode=decode)


def rate(batches: Iterator[Any], seconds: float, warm: int) -> float:
    """Images a second through the step."""
    weights, done, begun = parameters(), 0, 0.0
    for image, label in batches:
        if done == warm:
            jax.block_until_ready(weights)
            begun = time.perf_counter()
        weights = step(weights, image, label)
        done += 1
        if done > warm and time.perf_counter() - begun > seconds:
            break
    jax.block_until_ready(weights)
    return (done - warm) * BATCH / (time.perf_counter() - begun)


def fed(args: Any, decode: str) -> Any:
    """A feed's rate through the step."""
    with millrace.Feed(definition(args.data / "small"), workers=args.workers, epochs=None) as feed:
        batches = ((one["image"], one["label"]) for one in arrays(args, feed, decode))
        if args.dry:
            batches = ((image[:8], label[:8]) for image, label in batches)
        value = rate(batches, 0.5 if args.dry else 3.0, 3 if args.dry else 30)
        told = feed.stats().get("device", {})
    return value, {"decode": told.get("decode")}


def there_already(args: Any) -> float:
    """The step's rate on one batch that never leaves the device."""
    count = 8 if args.dry else BATCH
    image = jnp.zeros((count, 3, 224, 224), jnp.float32) + 0.5
    label = jnp.arange(count) % CLASSES

    def batches() -> Iterator[Any]:
        while True:
            yield image, label

    return rate(batches(), 0.5 if args.dry else 3.0, 3 if args.dry else 30)


def compared(args: Any, decode: str) -> dict[str, Any]:
    """What JAX has against what the host has, and whether it lies where it was written."""
    options = {"workers": args.workers, "steps": 3 if args.dry else 8, "epochs": None}
    feed = definition(args.data / "small")
    apart, same, pointers = [], True, []
    with millrace.Feed(feed, **options) as one, millrace.Feed(feed, **options) as two:
        for here, there in zip(one.numpy(), arrays(args, two, decode)):
            image = there["image"]
            written = getattr(there, "device_pointers", None)
            if written is not None and "image" in written:
                pointers.append(image.unsafe_buffer_pointer() == written["image"])
            unlike = np.abs(np.asarray(image, np.float64) - here["image"]) * np.reshape(STD, (1, 3, 1, 1))
            apart.append(float(unlike.mean()) * 255)
            # JAX makes 32-bit integers of 64-bit ones, unless it is told otherwise.
            labels = np.array_equal(np.asarray(there["label"]), here["label"])
            same = same and here.ids == there.ids and labels
    found = {"mean255": float(np.mean(apart)), "labels and ids": bool(same), "batches": len(apart)}
    found["pointers equal"] = f"{sum(pointers)} of {len(pointers)}" if pointers else "unknown"
    found["ok"] = bool(same) and found["mean255"] <= (2 if decode == "gpu" else 0)
    if decode == "gpu" and not args.dry:
        found["ok"] = found["ok"] and len(pointers) == len(apart) and all(pointers)
    return found


def main() -> None:
    args = arguments(__doc__)
    result = Result(args, "jax", "a jitted training step of a small network in bf16, f32 224² images, img/s")
    result.put("device", str(jax.devices()[0]))
    found = {}
    for decode in ("gpu", "cpu"):
        try:
            found[decode] = compared(args, decode)
        except Exception as error:  # noqa: BLE001  the other one may work
            found[decode] = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
        result.put("compared", found)
        result.say(f"{decode}: {found[decode]}")
    turns = Turns(args, result)
    for _ in range(min(2, args.rounds)):
        turns.take("cached", partial(there_already, args))
        turns.take("gpu", partial(fed, args, "gpu"))
        turns.take("cpu", partial(fed, args, "cpu"))
    result.done()
    raise SystemExit(0 if all(one["ok"] for one in found.values()) else 1)


if __name__ == "__main__":
    main()
