"""Makes the golden data of codecs, shuffles and checksums, with the libraries that people use.

contents.bin has what was compressed, compressed.bin what came out, golden.json says what lies where, and by which versions.
pip install numpy numcodecs cramjam zstandard lz4 h5py hdf5plugin crc32c
"""

import gzip
import io
import json
import pathlib
import zlib
from importlib.metadata import version

import cramjam
import crc32c
import h5py
import hdf5plugin
import lz4
import lz4.block
import lz4.frame
import numcodecs
import numpy as np
import zstandard
from numcodecs.fletcher32 import Fletcher32

HERE = pathlib.Path(__file__).parent
random = np.random.default_rng(16)

words = [bytes(random.integers(97, 123, size=random.integers(2, 9), dtype=np.uint8)) for _ in range(300)]
text = b" ".join(words[i] for i in random.zipf(1.4, size=3000) % 300)[:8011]
floats = np.round(np.cumsum(random.standard_normal(1500)), 1).astype("<f4").tobytes() + b"abc"
contents = {
    "empty": b"",
    "one": b"x",
    "short": b"abcabcabcabc!",
    "noise": random.bytes(701),
    "zeros": bytes(12000),
    "text": text,
    "floats": floats,
    "shorts": np.arange(2688, dtype="<i2").tobytes(),  # a multiple of all widths below
    "periods": b"".join(bytes(random.bytes(n)) * (160 // n) for n in range(1, 24)),
}


def stored_chunk(data: bytes, **how: object) -> bytes | None:
    """The bytes of an HDF5 chunk; None where HDF5 left its filter away, since it did not help."""
    file = h5py.File(io.BytesIO(), "w")
    dataset = file.create_dataset("x", data=np.frombuffer(data, "u1"), chunks=(len(data),), **how)
    file.flush()
    mask, chunk = dataset.id.read_direct_chunk((0,))
    return None if mask else chunk


def streamed(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return stream.compress(data) + stream.flush()


def raw_deflate(data: bytes, level: int, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    stream = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return stream.compress(data) + stream.flush()


SHUFFLES = {"plain": 0, "shuffle": 1, "bitshuffle": 2}
made: list[tuple[str, str, str, bytes]] = []  # codec, how, content, compressed
for name, data in contents.items():
    half = len(data) // 2

    def add(codec: str, how: str, compressed: bytes | None, name: str = name) -> None:
        if compressed is not None:
            made.append((codec, how, name, bytes(compressed)))

    add("deflate", "level 6", raw_deflate(data, 6))
    add("deflate", "stored", raw_deflate(data, 0))
    add("deflate", "fixed tables", raw_deflate(data, 9, zlib.Z_FIXED))
    add("zlib", "level 1", zlib.compress(data, 1))
    add("gzip", "level 9", gzip.compress(data, 9, mtime=0))
    add("gzip", "two members", gzip.compress(data[:half], mtime=0) + gzip.compress(data[half:], mtime=0))
    add("brotli", "level 5", cramjam.brotli.compress(data, 5))
    add("zstd", "level 3", zstandard.compress(data, 3))
    add("zstd", "streamed, with checksum", streamed(data))
    add("zstd", "two frames", zstandard.compress(data[:half], 19) + zstandard.compress(data[half:], 1))
    add("lz4", "linked", lz4.frame.compress(data))
    add(
        "lz4", "linked, small blocks", lz4.frame.compress(data * 8, block_size=4)[: 1 << 30] if name == "text" else None
    )
    add(
        "lz4",
        "independent, checksums",
        lz4.frame.compress(
            data, block_linked=False, block_checksum=True, content_checksum=True, store_size=False, compression_level=9
        ),
    )
    add("lz4", "two frames", lz4.frame.compress(data[:half]) + lz4.frame.compress(data[half:]))
    add("lz4-block", "fast", lz4.block.compress(data, store_size=False))
    add("lz4-block", "high", lz4.block.compress(data, mode="high_compression", store_size=False))
    add("snappy", "raw", cramjam.snappy.compress_raw(data))
    if data:
        add("lzf", "h5py", stored_chunk(data, compression="lzf"))
    for codec in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for how, number in SHUFFLES.items():
            # The width of elements comes from the array.
            for width in (1, 2, 4, 8) if name in ("floats", "text") else (4,):
                array = np.frombuffer(data[: len(data) // width * width], f"V{width}" if width > 1 else "u1")
                if array.nbytes == 0 or (width > 1 and array.nbytes != len(data)):
                    continue
                blosc = numcodecs.Blosc(codec, 5, number, blocksize=4096 if width in (2, 8) else 0)
                add("blosc", f"{codec}, {how}, {width} bytes", blosc.encode(array))
    for width in (2, 3, 4, 7, 8, 16):
        if data and len(data) % width == 0:
            add(f"shuffle {width}", "numcodecs", numcodecs.Shuffle(width).encode(np.frombuffer(data, "u1")))

# Elements of these widths, in whole: Blosc takes the width from the dtype.
for dtype, count in (("<f2", 3001), ("<f4", 1501), ("<f8", 751), ("<c16", 379), ("u1", 3001)):
    walk = np.round(np.cumsum(random.standard_normal(count)))
    array = np.abs(walk).astype(dtype) if dtype == "u1" else walk.astype(dtype)
    name = f"array {dtype}"
    contents[name] = array.tobytes()
    for codec in ("blosclz", "lz4", "zlib", "zstd"):
        for how, number in SHUFFLES.items():
            for block in (0, 2048):
                blosc = numcodecs.Blosc(codec, 5, number, blocksize=block)
                made.append(("blosc", f"{codec}, {how}, blocks of {block}", name, bytes(blosc.encode(array))))
    # HDF5's filter, without compression: blocks of the default size.
    file = h5py.File(io.BytesIO(), "w")
    dataset = file.create_dataset("x", data=array, chunks=array.shape, **hdf5plugin.Bitshuffle(cname="none"))
    file.flush()
    made.append((f"bitshuffle {array.itemsize}", "hdf5plugin", name, bytes(dataset.id.read_direct_chunk((0,))[1])))

index = {
    "versions": {
        name: version(name) for name in ("numcodecs", "cramjam", "zstandard", "lz4", "h5py", "hdf5plugin", "crc32c")
    },
    "contents": {},
    "compressed": [],
    "checksums": {},
}
raw = b""
for name, data in contents.items():
    index["contents"][name] = [len(raw), len(data)]
    index["checksums"][name] = {
        "crc32c": crc32c.crc32c(data),
        "fletcher32": int.from_bytes(bytes(Fletcher32().encode(data))[-4:], "little") if data else 0,
    }
    raw += data
packed = b""
for codec, how, name, data in made:
    repeat = 8 if how == "linked, small blocks" else 1
    index["compressed"].append([codec, how, name, len(packed), len(data), repeat])
    packed += data
(HERE / "contents.bin").write_bytes(raw)
(HERE / "compressed.bin").write_bytes(packed)
lines = json.dumps(index).replace("], [", "],\n[").replace('}, "', '},\n"')
(HERE / "golden.json").write_text(lines + "\n")
print(len(made), "pieces", len(raw), len(packed), index["versions"])
