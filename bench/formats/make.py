"""Makes a part of the data of the comparison of formats: python bench/formats/make.py PART FOLDER [SHARDS].

volumes   18 MB and 147 MB of f32 in npy, npz, HDF5 and Zarr          2 GB
texts     200,000 rows in Parquet, Arrow, JSON lines and CSV          350 MB
lists     40,000 rows of 1,024 tokens in Parquet, MDS and LitData     420 MB
pictures  those of SHARDS, tar files of JPEGs, in Parquet and TFRecord  120 MB

Rows are the same in each format. Texts are in two files each: a rival with two workers gives each worker files of its own.
"""

import json
import pathlib
import sys
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

random = np.random.default_rng(3)


def volumes(folder: pathlib.Path) -> None:
    """As smooth as pictures of a scanner are."""
    import h5py
    import zarr
    from zarr.codecs import BloscCodec, ZstdCodec

    for name, shape in {"18": (16, 2, 1500, 1500), "147": (4, 36, 1010, 1010)}.items():
        steps = random.standard_normal(shape[2:]).astype("f4")
        base = np.round(np.cumsum(steps, axis=1), 1)
        all_of_them = np.stack([np.stack([base + np.float32(i + j) for j in range(shape[1])]) for i in range(shape[0])])
        for kind in ("npy", "npz", "npz-deflate"):
            (folder / f"{kind}-{name}").mkdir()
        with h5py.File(folder / f"plain-{name}.h5", "w") as file:
            file["data"] = all_of_them
        for i, volume in enumerate(all_of_them):
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
                file.create_dataset("data", data=all_of_them, chunks=chunks, **options)
        lz4 = BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4)
        for kind, options in {
            "zstd": {"chunks": chunks, "compressors": ZstdCodec(level=3)},
            "sharded": {"chunks": chunks, "shards": (1, *shape[1:]), "compressors": ZstdCodec(level=3)},
            "blosc": {"chunks": chunks, "compressors": lz4},
        }.items():
            array = zarr.create_array(folder / f"{kind}-{name}.zarr", shape=shape, dtype="f4", **options)
            array[:] = all_of_them


def texts(folder: pathlib.Path) -> None:
    """Rows of about 400 bytes, beside columns that are not asked for."""
    import datasets
    from pyarrow import csv

    words = ["".join(map(chr, random.integers(97, 123, size=random.integers(2, 10)))) for _ in range(20_000)]
    picked = random.zipf(1.3, size=(200_000, 66)) % len(words)
    text = [" ".join(words[i] for i in row) for row in picked.tolist()]
    table = pa.table({"text": text, "number": np.arange(len(text)), "weight": random.standard_normal(len(text))})
    datasets.Dataset(table).save_to_disk(folder / "arrow", num_shards=2)
    for i in range(2):
        half = table.slice(100_000 * i, 100_000)
        for codec in ("zstd", "snappy"):
            pq.write_table(half, folder / f"{codec}-{i}.parquet", compression=codec, row_group_size=10_000)
        with open(folder / f"{i}.jsonl", "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in half.to_pylist())
        csv.write_csv(half, folder / f"{i}.csv", csv.WriteOptions(quoting_style="needed"))


def lists(folder: pathlib.Path) -> None:
    import torch
    from litdata.streaming.item_loader import TokensLoader
    from litdata.streaming.writer import BinaryWriter
    from streaming import MDSWriter

    tokens = random.integers(0, 50_000, size=(40_000, 1024), dtype="i4")
    ends = np.arange(0, tokens.size + 1, 1024, dtype="i4")
    table = pa.table({"tokens": pa.ListArray.from_arrays(ends, tokens.reshape(-1))})
    pq.write_table(table, folder / "lists.parquet", compression="zstd", row_group_size=2_000)
    with MDSWriter(out=str(folder / "mds"), columns={"tokens": "ndarray:int32:1024"}) as writer:
        for row in tokens:
            writer.write({"tokens": row})
    (folder / "litdata").mkdir()
    lit = BinaryWriter(str(folder / "litdata"), chunk_bytes="64MB", item_loader=TokensLoader())
    for i, row in enumerate(tokens):
        lit[i] = torch.from_numpy(row)
    lit.done()
    lit.merge()


def pictures(folder: pathlib.Path, *shards: str) -> None:
    from tfrecord.writer import TFRecordWriter

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


part, folder, *rest = sys.argv[1:]
PARTS = {"volumes": volumes, "texts": texts, "lists": lists, "pictures": pictures}
PARTS[part](pathlib.Path(folder), *rest)
