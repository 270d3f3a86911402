"""Makes the data of the comparison of formats: the same volumes, texts, lists and pictures in each format.

python bench/formats/make.py FOLDER SHARDS, where SHARDS are tar files of JPEGs (compare.mjs makes them). Takes about 3 GB.
"""

import pathlib
import sys
import tarfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from tfrecord.writer import TFRecordWriter
from zarr.codecs import BloscCodec, ZstdCodec

folder, shards = pathlib.Path(sys.argv[1]), sys.argv[2:]
random = np.random.default_rng(3)

# Volumes: 18 MB and 147 MB of f32, as smooth as pictures of a scanner are.
SHAPES = {"18": (16, 2, 1500, 1500), "147": (4, 36, 1010, 1010)}
for name, shape in SHAPES.items():
    steps = random.standard_normal(shape[2:]).astype("f4")
    base = np.round(np.cumsum(steps, axis=1), 1)
    volumes = np.stack([np.stack([base + np.float32(i + j) for j in range(shape[1])]) for i in range(shape[0])])
    for kind in ("npy", "npz", "npz-deflate"):
        (folder / f"{kind}-{name}").mkdir()
    with h5py.File(folder / f"plain-{name}.h5", "w") as file:
        file["data"] = volumes
    for i, volume in enumerate(volumes):
        np.save(folder / f"npy-{name}/{i}.npy", volume)
        np.savez(folder / f"npz-{name}/{i}.npz", data=volume)
        if name == "18":
            np.savez_compressed(folder / f"npz-deflate-{name}/{i}.npz", data=volume)
    if name == "147":
        continue
    chunks = (1, 1, 750, 1500)
    for filters, options in {
        "gzip": {"compression": "gzip", "compression_opts": 4},
        "gzip-shuffle": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
    }.items():
        with h5py.File(folder / f"{filters}-{name}.h5", "w") as file:
            file.create_dataset("data", data=volumes, chunks=chunks, **options)
    for kind, options in {
        "zstd": {"chunks": chunks, "compressors": ZstdCodec(level=3)},
        "sharded": {"chunks": chunks, "shards": (1, *shape[1:]), "compressors": ZstdCodec(level=3)},
        "blosc": {"chunks": chunks, "compressors": BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4)},
    }.items():
        array = zarr.create_array(folder / f"{kind}-{name}.zarr", shape=shape, dtype="f4", **options)
        array[:] = volumes

# Texts: 200,000 rows of about 400 bytes, beside columns that are not asked for.
words = ["".join(map(chr, random.integers(97, 123, size=random.integers(2, 10)))) for _ in range(20_000)]
picked = random.zipf(1.3, size=(200_000, 66)) % len(words)
text = [" ".join(words[i] for i in row) for row in picked.tolist()]
table = pa.table({"text": text, "number": np.arange(len(text)), "weight": random.standard_normal(len(text))})
for codec in ("zstd", "snappy"):
    pq.write_table(table, folder / f"text-{codec}.parquet", compression=codec, row_group_size=10_000)

# Lists: 40,000 rows of 1,024 tokens.
tokens = random.integers(0, 50_000, size=40_000 * 1024, dtype="i4")
lists = pa.ListArray.from_arrays(np.arange(0, len(tokens) + 1, 1024, dtype="i4"), tokens)
pq.write_table(pa.table({"tokens": lists}), folder / "lists.parquet", compression="zstd", row_group_size=2_000)

# Pictures: those of the shards.
columns: dict[str, list[object]] = {"jpg": [], "cls": []}
writer = TFRecordWriter(str(folder / "pictures.tfrecord"))
for shard in sorted(shards):
    samples: dict[str, dict[str, bytes]] = {}
    with tarfile.open(shard) as tar:
        for member in tar:
            key, _, ending = member.name.partition(".")
            content = tar.extractfile(member)
            if content is not None:
                samples.setdefault(key, {})[ending] = content.read()
    for sample in samples.values():
        label = int(sample["cls"])
        columns["jpg"].append(sample["jpg"])
        columns["cls"].append(label)
        writer.write({"jpg": (sample["jpg"], "byte"), "cls": (label, "int")})
writer.close()
pq.write_table(pa.table(columns), folder / "pictures.parquet", compression="none", row_group_size=256)
