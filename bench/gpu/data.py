"""Makes the suite's data, once: python3 bench/gpu/data.py --data DIR [--dry]

    small/   16,384 pictures of 224², about 30 kB, in 16 tar shards
    photos/   4,096 of 500×375, about 100 kB, in 8
    small-files/, photos-files/   the same as image folders, for PyTorch's DataLoader
    golden/  the tests' own pictures
    odd/     what a decoder meets in the wild: PNG, progressive, CMYK, grey, turned by EXIF, cut off
    jpegs.npz   a batch of small ones, one of photographs, and one of each odd kind, for check_stage.py

Everything is read once at the end, so that the page cache is warm. About 15 s on 16 cores.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

#: name: pictures, width, height, shards
SETS = {"small": (16_384, 224, 224, 16), "photos": (4_096, 500, 375, 8)}
ODD = 320
#: The tests' own pictures: every subsampling, every orientation, CMYK, restarts; PNG, WebP, GIF, TIFF, AVIF.
GOLDEN = Path(__file__).resolve().parents[2] / "test" / "golden" / "images"
KINDS = ("jpg", "png", "webp", "gif", "tif", "avif")


def pack(folder: Path, count: int, width: int, height: int, shards: int) -> None:
    """Synthetic pictures that cost a codec what photographs cost."""
    from millrace._client.node import engine_command

    images = {"width": width, "height": height, "quality": 90, "classes": 1000}
    source = json.dumps({"synthetic": {"count": count, "images": images}})
    cores = str(os.cpu_count())
    line = [*engine_command(), "pack", source, "--out", str(folder), "--prefix", "bench"]
    line += ["--shards", str(shards), "--workers", cores, "--json"]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def samples(shard: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Key and members of each sample of a tar shard."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(shard) as tar:
        for member in tar:
            if member.isfile():
                key, _, extension = member.name.partition(".")
                found.setdefault(key, {})[extension] = tar.extractfile(member).read()  # type: ignore[union-attr]
    yield from found.items()


def unpack(shard: Path, folder: Path) -> int:
    """A shard's pictures as files, in a folder for each class."""
    count = 0
    for key, members in samples(shard):
        place = folder / f"{int(members['cls']):04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{key}.jpg").write_bytes(members["jpg"])
        count += 1
    return count


def odd_pictures(shard: Path, to: Path) -> None:
    """Pictures of every kind, with a mask each, in one shard."""
    import numpy as np
    from PIL import Image

    photographs = [members["jpg"] for _, members in samples(shard)][:64]
    members = {}
    for i in range(ODD):
        picture = Image.open(io.BytesIO(photographs[i % len(photographs)])).convert("RGB")
        kind, extension, data, size = odd_one(i, picture)
        mask = Image.fromarray((np.indices((size[1], size[0])).sum(0) // 16 % 7).astype(np.uint8))
        members[f"{i:04d}-{kind}.{extension}"] = data
        members[f"{i:04d}-{kind}.cls"] = str(i).encode()
        members[f"{i:04d}-{kind}.mask.png"] = encoded(mask, "PNG")
    write(to, members)


def golden(to: Path) -> None:
    """The tests' pictures in one shard."""
    members = {}
    found = [path for path in sorted(GOLDEN.iterdir()) if path.suffix[1:] in KINDS]
    for i, path in enumerate(found):
        members[f"{path.stem}-{path.suffix[1:]}{path.suffix}"] = path.read_bytes()
        members[f"{path.stem}-{path.suffix[1:]}.cls"] = str(i).encode()
    write(to, members)


def write(to: Path, members: dict[str, bytes], shard: str = "shard-0000.tar") -> None:
    """A shard in a folder."""
    to.mkdir(parents=True, exist_ok=True)
    draft = to / f"{shard}.new"
    with tarfile.open(draft, "w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    draft.replace(to / shard)


def odd_one(i: int, picture: Any) -> tuple[str, str, bytes, tuple[int, int]]:
    """Kind, extension, bytes and upright size of the i-th."""
    # Not multiples of 8 or 16: the last blocks of a JPEG are partly outside.
    picture = picture.crop((0, 0, 500 - i % 37, 375 - i % 23))
    width, height = picture.size
    kind = i % 16
    if kind == 0:
        return "png", "png", encoded(picture, "PNG", compress_level=1), picture.size
    if kind == 1:
        return "png-grey-alpha", "png", encoded(picture.convert("LA"), "PNG", compress_level=1), picture.size
    if kind == 2:
        return "progressive", "jpg", encoded(picture, progressive=True), picture.size
    if kind == 3:
        return "cmyk", "jpg", encoded(picture.convert("CMYK")), picture.size
    if kind == 4:
        return "grey", "jpg", encoded(picture.convert("L")), picture.size
    if kind == 5 and i % 32 == 5:
        whole = encoded(picture)
        return "cut", "jpg", whole[: len(whole) // 2], picture.size
    if kind in (6, 7, 8, 9):
        turn = 1 + i // 16 % 8
        exif = picture.getexif()
        exif[0x0112] = turn
        upright = (height, width) if turn >= 5 else (width, height)
        return f"exif{turn}", "jpg", encoded(picture, exif=exif, progressive=kind == 9), upright
    if kind == 10:
        return "444", "jpg", encoded(picture, subsampling=0), picture.size
    if kind == 11:
        return "422", "jpg", encoded(picture, subsampling=1), picture.size
    if kind == 12:
        return "tiny", "jpg", encoded(picture.crop((0, 0, 7, 5))), (7, 5)
    if kind == 13:
        return "restarts", "jpg", encoded(picture, restart_marker_blocks=5), picture.size
    return "plain", "jpg", encoded(picture, optimize=kind == 14), picture.size


def pictures(shards: Iterable[Path], count: int) -> list[bytes]:
    """The first JPEGs of some shards."""
    return list(islice((members["jpg"] for shard in shards for _, members in samples(shard)), count))


def few(small: Path, photos: Path, to: Path) -> None:
    """A batch of small JPEGs (a0 …), one of photographs (b0 …), and one of each kind that decoders stumble
    over (odd_…), as bytes.
    """
    import numpy as np
    from PIL import Image

    files = {f"a{i}": data for i, data in enumerate(pictures([small], 256))}
    files.update({f"b{i}": data for i, data in enumerate(pictures([photos], 256))})
    photograph = files["b0"]
    picture = Image.open(io.BytesIO(photograph)).convert("RGB")
    plain = encoded(picture, subsampling=2)
    odd = {
        "420": plain,
        "422": encoded(picture, subsampling=1),
        "444": encoded(picture, subsampling=0),
        "440": (GOLDEN / "440.jpg").read_bytes(),
        "411": (GOLDEN / "411.jpg").read_bytes(),
        "gray": encoded(picture.convert("L")),
        "prog": encoded(picture, progressive=True),
        "cmyk": encoded(picture.convert("CMYK")),
        "odd": encoded(picture.crop((0, 0, 333, 217)), subsampling=2),
        "tiny": encoded(picture.crop((0, 0, 7, 5))),
        "opt": encoded(picture, optimize=True),
        "restart": encoded(picture, restart_marker_blocks=5),
        "cut": plain[: len(plain) // 2],
        "cutEOI": plain[: len(plain) // 2] + b"\xff\xd9",
        "flip": damaged(plain),
    }
    files.update({f"odd_{name}": data for name, data in odd.items()})
    np.savez(to, **{name: np.frombuffer(data, np.uint8) for name, data in files.items()})


def damaged(data: bytes) -> bytes:
    """With some bits the other way round, after the header."""
    import numpy as np

    draw, out = np.random.default_rng(1), bytearray(data)
    for at in draw.integers(700, len(data) - 10, 40):
        out[at] ^= 1 << int(draw.integers(0, 8))
    return bytes(out)


def encoded(picture: Any, form: str = "JPEG", **options: Any) -> bytes:
    """A picture as a file."""
    file = io.BytesIO()
    picture.save(file, form, **({"quality": 90, **options} if form == "JPEG" else options))
    return file.getvalue()


def make(data: Path, dry: bool) -> None:
    """All of it, unless it is there."""
    done = data / "complete"
    if done.exists():
        print(f"{data}: there already", flush=True)
        return
    begun = time.monotonic()
    for name, (count, width, height, shards) in SETS.items():
        pack(data / name, count // 16 if dry else count, width, height, shards)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(unpack, shard, data / f"{name}-files")
            for name in SETS
            for shard in sorted((data / name).glob("*.tar"))
        ]
        small, photos = (data / name / "bench-0000.tar" for name in SETS)
        others = [
            pool.submit(odd_pictures, photos, data / "odd"),
            pool.submit(few, small, photos, data / "jpegs.npz"),
            pool.submit(golden, data / "golden"),
        ]
        files = sum(job.result() for job in jobs)
        for job in others:
            job.result()
    read = sum(len(path.read_bytes()) for path in data.rglob("*") if path.is_file())
    done.touch()
    seconds = time.monotonic() - begun
    print(f"{files:,} pictures, {read / 2**20:,.0f} MiB in {data}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dry", action="store_true")
    given = parser.parse_args()
    given.data.mkdir(parents=True, exist_ok=True)
    sys.exit(make(given.data, given.dry))
