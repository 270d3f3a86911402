"""What JAX receives on its device is what the host has. python3 bench/gpu/jax_check.py 'DIR/bench-*.tar'"""

import sys
import time

import jax
import numpy as np

import millrace

CROP = [{"randomResizedCrop": {"size": 224}}, {"flip": {"p": 0.5}}, {"normalize": "imagenet"}]
FEED = {
    "source": {"tar": sys.argv[1]},
    "order": {"shuffle": "global", "seed": 1},
    "fields": {"image": {"from": "jpg", "as": "image", "apply": CROP}, "label": {"from": "cls", "as": "int", "dtype": "i32"}},
    "batch": 256,
}
device = jax.devices()[0]
with millrace.Feed(FEED, workers=14, steps=8) as host, millrace.Feed(FEED, workers=14, steps=8) as there:
    for a, b in zip(host.numpy(), there.jax(device=device)):
        assert b["image"].devices() == {device}, b["image"].devices()
        assert np.array_equal(a["image"], np.asarray(b["image"])) and np.array_equal(a["label"], np.asarray(b["label"]))
with millrace.Feed(FEED, workers=14, epochs=None, depth=6) as feed:
    total = jax.jit(lambda image: image.sum())
    done = 0
    for batch in feed.jax(device=device):
        done += 1
        last = total(batch["image"])
        if done == 20:
            begun = time.perf_counter()
        if done == 120:
            break
    last.block_until_ready()
    print(f"jax on {device}: the same bytes; {100 * 256 / (time.perf_counter() - begun):,.0f} img/s")
