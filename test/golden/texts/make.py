"""Bytes, byte order marks and JSON, as each format holds texts, and what its own library reads.

Made with numpy 2.4.6, pyarrow 26.0.1, h5py 3.16.0 and zarr 3.1.6: python make.py
"""

import csv
import json
import pathlib
import shutil

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr

here = pathlib.Path(__file__).parent
expected = {}

# Bytes of fixed length, some of which are no UTF-8.
raw = np.array([b"\xff\xfe\x00a", "grün".encode(), b"caf\xe9", b"", b"a\0b", b"12345678"], "S8")
expected["bytes"] = [value.hex() for value in raw.tolist()]
np.save(here / "bytes.npy", raw)
np.savez(here / "bytes.npz", x=raw)
shutil.rmtree(here / "bytes.zarr", ignore_errors=True)
zarr.create_group(here / "bytes.zarr", zarr_format=2).create_array(
    "x", data=raw, chunks=(4,), compressors=None
)
with h5py.File(here / "bytes.h5", "w") as file:
    file.create_dataset("x", data=raw)

# A leading U+FEFF is a character of a text like any other.
marks = ["plain", "\ufeffleading", "in\ufeffside", "\ufeff", "\ufeff\ufefftwo"]
expected["marks"] = marks
table = pa.table({"text": marks})
pq.write_table(table, here / "marks.parquet")
with pa.OSFile(str(here / "marks.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
    writer.write_table(table)
(here / "marks.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in marks))
with open(here / "marks.csv", "w", newline="") as file:
    csv.writer(file).writerows([["text"], *([text] for text in marks)])
np.save(here / "marks.npy", np.array(marks))

# Values that a field makes JSON of.
values = [
    {"x": []},
    ["a", "b\n\u00fc"],
    [],
    [1, 2],
    [[1, 2], [3, 4]],
    [1.5, -2.25],
    [9007199254740993],
    7,
    -0.5,
    [None, "x"],
    {"a": {"b": "\\\""}},
]
expected["values"] = values
(here / "values.jsonl").write_text("".join(json.dumps({"value": one}) + "\n" for one in values))
(here / "texts.jsonl").write_text("".join(json.dumps({"value": json.dumps(one)}) + "\n" for one in values))
with open(here / "values.csv", "w", newline="") as file:
    csv.writer(file).writerows([["value"], *([json.dumps(one)] for one in values)])
lists = [["a", "\u00fc\n"], [], ["[]"], [None, "x"]]
expected["lists"] = lists
table = pa.table({"value": pa.array(lists, pa.list_(pa.string()))})
pq.write_table(table, here / "lists.parquet")
with pa.OSFile(str(here / "lists.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
    writer.write_table(table)

(here / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
