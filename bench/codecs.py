"""Makes the data of codecs.mjs, and measures the codecs that people use from Python: MB of output a second
of CPU time, one thread.

python bench/codecs.py FOLDER make|measure
"""

import json
import pathlib
import sys
import time
import zlib
from importlib.metadata import version

import cramjam
import lz4.block
import lz4.frame
import numcodecs
import numpy as np
import pyarrow
import zstandard

LIBRARIES = ("cramjam", "lz4", "numcodecs", "numpy", "pyarrow", "zstandard")
TEXT_BYTES = 147_000_000
SOME_BYTES = 32_000_000
BLOSC = ("blosclz", "lz4", "zlib", "zstd")


def make(folder: pathlib.Path) -> None:
    """Words as often as they are in a language, and a random walk of f32."""
    random = np.random.default_rng(1)
    words = [bytes(random.integers(97, 123, size=random.integers(2, 11), dtype=np.uint8)) for _ in range(20_000)]
    picked = random.zipf(1.2, size=TEXT_BYTES // 4) % len(words)
    text = b" ".join(words[i] for i in picked.tolist())[:TEXT_BYTES]
    some = text[:SOME_BYTES]
    walk = np.cumsum(random.standard_normal(SOME_BYTES // 4)).astype("<f4")
    stream = zlib.compressobj(6, zlib.DEFLATED, -15)
    files = {
        "deflate": stream.compress(text) + stream.flush(),
        "zlib": zlib.compress(some, 6),
        "zstd": zstandard.compress(some, 3),
        "lz4": lz4.frame.compress(some),
        "lz4-block": lz4.block.compress(some, store_size=False),
        "snappy": bytes(cramjam.snappy.compress_raw(some)),
        "lzf": lzf(some),
        **{f"blosc-{codec}": bytes(numcodecs.Blosc(codec, 5, 1).encode(walk)) for codec in BLOSC},
        "blosc-lz4-bits": bytes(numcodecs.Blosc("lz4", 5, 2).encode(walk)),
        "shuffle": bytes(numcodecs.Shuffle(4).encode(walk)),
        "crc32c": some,
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)


def lzf(data: bytes) -> bytes:
    import io

    import h5py

    file = h5py.File(io.BytesIO(), "w")
    dataset = file.create_dataset("x", data=np.frombuffer(data, "u1"), chunks=(len(data),), compression="lzf")
    file.flush()
    return bytes(dataset.id.read_direct_chunk((0,))[1])


def measure(folder: pathlib.Path) -> dict[str, float]:
    import crc32c

    size = {"deflate": TEXT_BYTES}
    arrow = {name: pyarrow.Codec(name) for name in ("zstd", "lz4", "lz4_raw", "snappy", "gzip")}
    out = np.empty(SOME_BYTES, "u1")
    calls = {
        "deflate": lambda data: zlib.decompress(data, -15, TEXT_BYTES),
        "zlib": lambda data: zlib.decompress(data, 15, SOME_BYTES),
        "zstd": lambda data: arrow["zstd"].decompress(data, SOME_BYTES),
        "lz4": lambda data: arrow["lz4"].decompress(data, SOME_BYTES),
        "lz4-block": lambda data: arrow["lz4_raw"].decompress(data, SOME_BYTES),
        "snappy": lambda data: arrow["snappy"].decompress(data, SOME_BYTES),
        **{f"blosc-{codec}": lambda data: numcodecs.blosc.decompress(data, out) for codec in (*BLOSC, "lz4-bits")},
        "shuffle": lambda data: numcodecs.Shuffle(4).decode(data, out),
        "crc32c": crc32c.crc32c,
    }
    numcodecs.blosc.set_nthreads(1)
    rates = {}
    for name, call in calls.items():
        data = (folder / name).read_bytes()
        best = float("inf")
        for _ in range(3):
            begun = time.process_time()
            call(data)
            best = min(best, time.process_time() - begun)
        rates[name] = size.get(name, SOME_BYTES) / best / 1e6
    return rates


folder = pathlib.Path(sys.argv[1])
if sys.argv[2] == "make":
    make(folder)
else:
    print(json.dumps({"versions": {name: version(name) for name in LIBRARIES}, "rates": measure(folder)}))
