"""Makes the files in this folder: python3 test/golden/compressed/make.py (needs numpy, lz4, zstandard).

index.json says of each what it is compressed by and what it becomes: its number of bytes and their SHA-256.
"""

import gzip
import hashlib
import io
import json
import os
import zlib

import lz4.block
import lz4.frame
import numpy as np
import zstandard

HERE = os.path.dirname(os.path.abspath(__file__))

steps = np.arange(2048)
#: 8,192 bytes that compress to a half: f32 [32, 64].
SMALL = np.round(np.sin(steps / 50) * 100, 1).astype("<f4").reshape(32, 64)
#: 192 KiB with matches that reach over the borders of LZ4's blocks of 64 KiB.
LONG = np.tile(np.sqrt(np.arange(500)).astype("<f4"), 100)[:49152].astype("<f4")
NOISE = np.random.default_rng(7).integers(0, 256, 3000).astype("u1")


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def deflate(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def streamed(data):
    """Without the size in the header."""
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    return packer.compress(data) + packer.flush()


def zstd(data, **options):
    return zstandard.ZstdCompressor(level=3, **options).compress(data)


small, long, noise = SMALL.tobytes(), LONG.tobytes(), NOISE.tobytes()
frame = lz4.frame.compress
SKIPPED = bytes.fromhex("502a4d18 03000000 010203")
FILES = {
    "small.zst": ("zstd", zstd(small), small),
    "npy.zst": ("zstd", zstd(npy(SMALL)), npy(SMALL)),
    "checked.zst": ("zstd", zstd(small, write_checksum=True), small),
    "streamed.zst": ("zstd", streamed(small), small),
    "two-frames.zst": ("zstd", zstd(small[:5000]) + zstd(small[5000:]), small),
    "long.zst": ("zstd", zstd(long), long),
    "noise.zst": ("zstd", zstd(noise), noise),
    "small.frame.lz4": ("lz4", frame(small), small),
    "npy.frame.lz4": ("lz4", frame(npy(SMALL)), npy(SMALL)),
    "linked.frame.lz4": ("lz4", frame(long, block_size=lz4.frame.BLOCKSIZE_MAX64KB), long),
    "independent.frame.lz4": (
        "lz4",
        frame(long, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_linked=False),
        long,
    ),
    "checked.frame.lz4": (
        "lz4",
        frame(long, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_checksum=True, content_checksum=True),
        long,
    ),
    "unsized.frame.lz4": ("lz4", frame(small, store_size=False), small),
    "noise.frame.lz4": ("lz4", frame(noise), noise),
    "two-frames.frame.lz4": ("lz4", SKIPPED + frame(small[:5000]) + frame(small[5000:]), small),
    "small.block.lz4": ("lz4", lz4.block.compress(small, store_size=False), small),
    "sized.block.lz4": ("lz4", lz4.block.compress(small), small),
    "long.block.lz4": ("lz4", lz4.block.compress(long, store_size=False), long),
    "noise.block.lz4": ("lz4", lz4.block.compress(noise, store_size=False), noise),
    "small.deflate": ("deflate", deflate(small), small),
    "small.zlib": ("zlib", zlib.compress(small), small),
    "npy.zlib": ("zlib", zlib.compress(npy(SMALL)), npy(SMALL)),
    "noise.zlib": ("zlib", zlib.compress(noise), noise),
    "small.gz": ("gzip", gzip.compress(small, mtime=0), small),
    "two-members.gz": ("gzip", gzip.compress(small[:5000], mtime=0) + gzip.compress(small[5000:], mtime=0), small),
}

index = {}
for name, (codec, packed, data) in FILES.items():
    with open(os.path.join(HERE, name), "wb") as file:
        file.write(packed)
    index[name] = {"codec": codec, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

# A name and a comment in gzip's header.
named = io.BytesIO()
with gzip.GzipFile("array.bin", "wb", fileobj=named, mtime=0) as file:
    file.write(small)
with open(os.path.join(HERE, "named.gz"), "wb") as file:
    file.write(named.getvalue())
index["named.gz"] = {"codec": "gzip", "bytes": len(small), "sha256": hashlib.sha256(small).hexdigest()}

with open(os.path.join(HERE, "index.json"), "w") as file:
    json.dump(index, file, indent=2, sort_keys=True)
    file.write("\n")
