"""Writes the same table in many formats, and which of its rows random conditions select: `python make.py`.

The conditions are answered by duckdb (a null meets none), those on the column with NaN by numpy. Versions: duckdb 2.0.0,
pyarrow 26.0.1, h5py 3.16.0, zarr 3.1.6, tfrecord 1.14.6, mosaicml-streaming 0.13.0, litdata 0.2.76, numpy 2.4.6.
"""

import gzip
import importlib.util
import json
import random
import shutil
import struct
import sys
import types
from pathlib import Path

import duckdb
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from litdata.streaming.writer import BinaryWriter
from tfrecord.writer import TFRecordWriter

HERE = Path(__file__).parent
ROWS = 150
draw = random.Random(16)

WORDS = ["cat", "dog", "größe", "", "😀 x", "Zebra", "a,b", 'quo"te', "10", "9"]


def some(value, share=0.12):
    return None if draw.random() < share else value


table = {
    "i": [draw.randrange(-20, 20) for _ in range(ROWS)],
    "x": [some(round(draw.uniform(-3, 3), 3)) for _ in range(ROWS)],
    "n": [some(draw.randrange(0, 6)) for _ in range(ROWS)],
    "t": [some(draw.choice(WORDS)) for _ in range(ROWS)],
    "w": [draw.choice(["red", "green", "blau"]) for _ in range(ROWS)],
    "b": [some(draw.random() < 0.5) for _ in range(ROWS)],
    "big": [2**60 + draw.randrange(0, 5) if draw.random() < 0.5 else draw.randrange(0, 9) for _ in range(ROWS)],
    "y": [draw.choice([float("nan"), -1.5, 0.0, 2.5]) for _ in range(ROWS)],
}
WHOLE = ["i", "w", "big", "y"]

schema = pa.schema(
    [
        ("i", pa.int32()),
        ("x", pa.float64()),
        ("n", pa.int64()),
        ("t", pa.string()),
        ("w", pa.dictionary(pa.int8(), pa.string())),
        ("b", pa.bool_()),
        ("big", pa.int64()),
        ("y", pa.float64()),
    ]
)
arrow = pa.table({name: pa.array(table[name], schema.field(name).type, from_pandas=False) for name in table})

pq.write_table(arrow, HERE / "table.parquet", row_group_size=40)
with pa.OSFile(str(HERE / "table.arrow"), "wb") as out, pa.ipc.new_file(out, arrow.schema) as writer:
    writer.write_table(arrow, max_chunksize=64)

csv = ["i,x,n,t,w,b,big"]
for row in range(ROWS):
    cells = []
    for name in csv[0].split(","):
        value = table[name][row]
        if isinstance(value, bool):
            value = "true" if value else "false"
        text = "" if value is None else str(value)
        quoted = name == "t" and value is not None
        cells.append('"' + text.replace('"', '""') + '"' if quoted else text)
    csv.append(",".join(cells))
(HERE / "table.csv").write_text("\n".join(csv) + "\n")
lines = []
for row in range(ROWS):
    # A null and a key that is absent are the same.
    values = {name: table[name][row] for name in table if name != "y"}
    lines.append(json.dumps({name: v for name, v in values.items() if v is not None or row % 2}))
(HERE / "table.jsonl").write_text("\n".join(lines) + "\n")
(HERE / "table.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))

with h5py.File(HERE / "table.h5", "w", libver="latest") as file:
    for name in ("i", "big", "y"):
        file.create_dataset(name, data=np.array(table[name]), chunks=(32,), compression="gzip")
    file.create_dataset("w", data=table["w"], dtype=h5py.string_dtype())

path = HERE / "table.zarr.zip"
path.unlink(missing_ok=True)
store = zarr.storage.ZipStore(path, mode="w")
group = zarr.create_group(store)
for name in ("i", "big", "y"):
    group.create_array(name, data=np.array(table[name]), chunks=(32,))
group.create_array("w", data=np.array(table["w"], dtype="U8"), chunks=(50,))
store.close()

np.savez_compressed(HERE / "table.npz", **{name: np.array(table[name]) for name in ("i", "big", "y")})
(HERE / "samples").mkdir(exist_ok=True)
for row in range(12):
    members = {name: np.array(table[name][row]) for name in ("i", "y")}
    np.savez(HERE / "samples" / f"{row:02}.npz", big=np.array([table["big"][row]]), **members)


def frame(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + TFRecordWriter.masked_crc(length) + record + TFRecordWriter.masked_crc(record)


records = []
for row in range(ROWS):
    features = {
        "i": (table["i"][row], "int"),
        "big": (table["big"][row], "int"),
        "w": (table["w"][row].encode(), "byte"),
    }
    if table["t"][row] is not None:
        features["t"] = (table["t"][row].encode(), "byte")
    if table["n"][row] is not None:
        features["n"] = (table["n"][row], "int")
    features["y"] = (table["y"][row], "float")
    records.append(frame(TFRecordWriter.serialize_tf_example(features)))
(HERE / "table.tfrecord").write_bytes(b"".join(records))


class Stub(types.ModuleType):
    """Stands in for what would upload shards."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Cloud


class Cloud:
    def __init__(self, out):
        self.local, self.remote = out, None
        Path(out).mkdir()

    @staticmethod
    def get(out, *args, **options):
        return Cloud(out)

    def __getattr__(self, name):
        return lambda *args, **options: None


spec = importlib.util.find_spec("streaming")
for name in ("streaming", "streaming.base"):
    module = types.ModuleType(name)
    module.__path__ = [spec.submodule_search_locations[0] + name[len("streaming") :].replace(".", "/")]
    sys.modules[name] = module
for name in ("streaming.base.storage", "streaming.base.storage.upload", "streaming.base.storage.download"):
    sys.modules[name] = Stub(name)
from streaming.base.format import MDSWriter  # noqa: E402

shutil.rmtree(HERE / "mds", ignore_errors=True)
columns = {"i": "int32", "big": "int", "w": "str", "y": "float64"}
with MDSWriter(out=str(HERE / "mds"), columns=columns, size_limit=2048) as writer:
    for row in range(ROWS):
        numbers = {"i": np.int32(table["i"][row]), "big": table["big"][row], "y": np.float64(table["y"][row])}
        writer.write({**numbers, "w": table["w"][row]})

shutil.rmtree(HERE / "litdata", ignore_errors=True)
(HERE / "litdata").mkdir()
writer = BinaryWriter(str(HERE / "litdata"), chunk_size=64)
for row in range(ROWS):
    # Rows of nothing but numbers and texts would be written as Arrow.
    writer[row] = {**{name: table[name][row] for name in WHOLE}, "a": np.zeros(1, np.uint8)}
writer.done()
writer.merge()
for lock in (HERE / "litdata").glob("*.lock"):
    lock.unlink()

base = arrow.append_column("row", pa.array(range(ROWS)))
duckdb.register("t", base)


def literal(value):
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def condition(name):
    values = [value for value in table[name] if value is not None]
    if name == "b":
        return draw.choice([True, False, {"!=": True}, [True, False], {"=": False}])
    pick = lambda: draw.choice(values)  # noqa: E731
    kind = draw.randrange(4)
    if kind == 0:
        return pick()
    if kind == 1:
        return [pick() for _ in range(draw.randrange(1, 5))]
    # Texts are ordered by UTF-16 in JavaScript and by UTF-8 in duckdb: these are the same without emojis, and equality always is.
    signs = ["=", "!="] if name in ("t", "w") else [">", ">=", "<", "<=", "=", "!="]
    return {sign: pick() for sign in draw.sample(signs, draw.randrange(1, 3))}


def sql(name, one):
    column = f'CAST("{name}" AS VARCHAR)' if name == "w" else f'"{name}"'
    if isinstance(one, list):
        return f"{column} IN ({', '.join(map(literal, one))})"
    if not isinstance(one, dict):
        return f"{column} = {literal(one)}"
    return " AND ".join(f"{column} {sign} {literal(bound)}" for sign, bound in one.items())


OPERATORS = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def answer(where):
    rows = np.ones(ROWS, bool)
    for name, one in where.items():
        if name == "y":
            y = np.array(table["y"])
            for sign, bound in one.items():
                rows &= OPERATORS[sign](y, bound)
        else:
            found = duckdb.sql(f"SELECT row FROM t WHERE {sql(name, one)}").fetchall()
            rows &= np.isin(np.arange(ROWS), [row for (row,) in found])
    return np.flatnonzero(rows).tolist()


def exact(name, one):
    """Integers beyond 2^53 are written as texts: JSON would round them."""
    if name != "big":
        return one
    told = lambda value: str(value) if value > 2**53 else value  # noqa: E731
    if isinstance(one, list):
        return [told(value) for value in one]
    return {sign: told(value) for sign, value in one.items()} if isinstance(one, dict) else told(one)


cases = []
while len(cases) < 120:
    where = {}
    for name in draw.sample(list(table), draw.randrange(1, 4)):
        bound = draw.choice([-1.5, 0.0, 2.5])
        where[name] = {draw.choice(list(OPERATORS)): bound} if name == "y" else condition(name)
    rows = answer(where)
    if rows:
        cases.append({"where": {name: exact(name, one) for name, one in where.items()}, "rows": rows})
told = {
    name: [str(v) if name == "big" and v > 2**53 else None if v != v else v for v in values]
    for name, values in table.items()
}
(HERE / "cases.json").write_text(json.dumps({"table": told, "cases": cases}) + "\n")
