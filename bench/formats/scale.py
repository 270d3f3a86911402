"""Data that look very large: sparse files, and links to one file. The last argument is the size in GB.

python3 bench/formats/scale.py memory FOLDER 50      what bench/formats/memory.mjs reads
python3 bench/formats/scale.py parquet FOLDER 1000   1,000 Parquet files of 1,000 row groups and 10 columns, 2.3 GB
"""

import json
import os
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROW = 16384  # floats: 64 KiB
LINK_BYTES = 250_000_000


def npy(path, rows):
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, ROW)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * ROW * rows)


def hdf5(path, rows, chunk):
    import h5py

    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        if chunk:
            plist.set_chunk((chunk, ROW))
        space = h5py.h5s.create_simple((rows, ROW))
        h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, space, plist)


def parquet(path):
    rng = np.random.default_rng(0)
    schema = pa.schema([("id", pa.int64()), ("x", pa.list_(pa.float32()))])
    with pq.ParquetWriter(
        path, schema, compression="none", use_dictionary=False
    ) as writer:
        for group in range(LINK_BYTES // (32 * 4 * ROW)):
            values = rng.random(32 * ROW, dtype="f4")
            offsets = np.arange(0, 32 * ROW + 1, ROW, dtype="i4")
            lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
            ids = pa.array(np.arange(32) + 32 * group)
            writer.write_table(pa.table([ids, lists], schema=schema))


def jsonl(path):
    text = "lorem ipsum dolor sit amet " * 36
    with open(path, "w") as file:
        file.writelines(
            json.dumps({"id": i, "text": text}) + "\n"
            for i in range(LINK_BYTES // 1000)
        )


def links(folder, name, ending, make, size):
    """As many links to one file as make up the size."""
    one = os.path.join(folder, f"{name}.{ending}")
    if not os.path.exists(one):
        make(one)
    to = os.path.join(folder, f"{name}-{size}")
    os.makedirs(to, exist_ok=True)
    for i in range(max(1, size * 10**9 // LINK_BYTES)):
        os.symlink(one, os.path.join(to, f"{i:04d}.{ending}"))


def many_groups(folder, files):
    """Footers of a megabyte: what opening has to read."""
    rng = np.random.default_rng(0)
    types = [pa.int64()] * 5 + [pa.float32()] * 4 + [pa.string()]
    schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(types)])
    one = os.path.join(folder, "one.parquet")
    with pq.ParquetWriter(one, schema) as writer:
        for group in range(1000):
            columns = [pa.array(rng.integers(0, 1000, 10)) for _ in range(5)]
            columns += [pa.array(rng.random(10, dtype="f4")) for _ in range(4)]
            columns.append(pa.array([f"{group}-{i}" for i in range(10)]))
            writer.write_table(pa.table(columns, schema=schema))
    for i in range(files):
        shutil.copy(one, os.path.join(folder, f"part-{i:04d}.parquet"))
    os.remove(one)


what, folder, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.makedirs(folder, exist_ok=True)
if what == "parquet":
    many_groups(folder, size)
else:
    rows = size * 10**9 // (4 * ROW)
    npy(os.path.join(folder, f"x-{size}.npy"), rows)
    hdf5(os.path.join(folder, f"whole-{size}.h5"), rows, 0)
    hdf5(os.path.join(folder, f"chunks-{size}.h5"), rows, 16)
    links(folder, "lists", "parquet", parquet, size)
    links(folder, "lines", "jsonl", jsonl, size)
