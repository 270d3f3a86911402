"""Photographs as they come from the web: sizes of 320 to 760 pixels, and some of each kind of JPEG.

    python3 bench/gpu/mixtures.py --data DIR [--dry]     after data.py; about 15 s on 16 cores

One folder with shards for each mixture: DIR/mixed-420, DIR/mixed-progressive, …; the same pictures in all of them,
only their coding differs.
"""

from __future__ import annotations

import argparse
import io
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from data import encoded, pack, samples, write

COUNT, SHARDS = 2_048, 8
LEAST, MOST = 320, 760
#: mixture: the share of each kind; the rest is 4:2:0, baseline.
MIXTURES: dict[str, dict[str, float]] = {
    "mixed-420": {},
    "mixed-grey": {"grey": 0.01},
    "mixed-cmyk": {"cmyk": 0.01},
    "mixed-progressive": {"progressive": 0.03},
    "mixed-444": {"444": 0.04},
    "mixed-all": {"grey": 0.01, "cmyk": 0.01, "progressive": 0.03, "444": 0.04},
    "mixed-progressive-30": {"progressive": 0.30},
}
#: What PIL is told for each kind, and the mode it is converted to.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "420": ("RGB", {"subsampling": 2}),
    "grey": ("L", {}),
    "cmyk": ("CMYK", {}),
    "progressive": ("RGB", {"subsampling": 2, "progressive": True}),
    "444": ("RGB", {"subsampling": 0}),
}


def kind_of(number: int, shares: dict[str, float]) -> str:
    """The kind of a picture: kinds are spread evenly over all of them."""
    at = (number * 0.6180339887498949) % 1
    for kind, share in shares.items():
        if at < share:
            return kind
        at -= share
    return "420"


def mix(shard: Path, data: Path, index: int) -> None:
    """The pictures of one shard, once for each mixture."""
    from PIL import Image

    coded: dict[tuple[str, str], bytes] = {}
    found = list(samples(shard))
    for name, shares in MIXTURES.items():
        members: dict[str, bytes] = {}
        for place, (key, sample) in enumerate(found):
            number = index * len(found) + place
            kind = kind_of(number, shares)
            if (key, kind) not in coded:
                width = LEAST + number * 7919 % (MOST - LEAST + 1)
                height = LEAST + number * 104729 % (MOST - LEAST + 1)
                mode, options = KINDS[kind]
                picture = Image.open(io.BytesIO(sample["jpg"])).crop((0, 0, width, height)).convert(mode)
                coded[key, kind] = encoded(picture, **options)
            members[f"{key}.jpg"] = coded[key, kind]
            members[f"{key}.cls"] = sample["cls"]
        write(data / name, members, f"shard-{index:04d}.tar")


def make(data: Path, dry: bool = False) -> None:
    """All mixtures, unless they are there."""
    done = data / "mixtures-complete"
    if done.exists():
        return
    large = data / "mixed-originals"
    pack(large, COUNT // 16 if dry else COUNT, MOST, MOST, SHARDS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        shards = sorted(large.glob("*.tar"))
        for job in [pool.submit(mix, shard, data, index) for index, shard in enumerate(shards)]:
            job.result()
    read = sum(len(path.read_bytes()) for name in MIXTURES for path in (data / name).glob("*.tar"))
    done.touch()
    print(f"{len(MIXTURES)} mixtures, {read / 2**20:,.0f} MiB", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dry", action="store_true")
    given = parser.parse_args()
    make(given.data, given.dry)
