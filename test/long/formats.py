"""Random tables and arrays, written by the reference writers: python3 formats.py FOLDER SEED COUNT

Prints a line of JSON for each case: its format, the source and the fields of a feed, and each row of each field as the
reference reader has it: a decimal integer, the bits of a double, a text, or the bytes of an array; for a null what ``missing`` says. ``whole`` is true where
checksums are always compared: such a file, damaged, may be refused, but not deliver anything else.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import random
import struct
import sys

import duckdb
import h5py
import numpy as np
import polars
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import zarr

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHORT = {
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
}
SHORT |= {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool"}
LETTERS = [
    "a",
    "B",
    "0",
    " ",
    "\n",
    '"',
    ",",
    "\\",
    "\t",
    "é",
    "ß",
    "漢",
    "🙂",
    "\u0301",
    "\ufeff",
    "\x00",
    "'",
]
#: What stands for a null, in fields of each kind, and as it is told.
MISSING = {"int": -(2**52) - 1, "float": 1.25e-300, "text": "∅", "bytes": "∅"}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.5, -2.0]


def integer(r, name):
    bits = int(name.lstrip("uint")) - (name == "uint64")
    low = 0 if name[0] == "u" else -(2 ** (bits - 1))
    high = 2**bits - 1 if name[0] == "u" else 2 ** (bits - 1) - 1
    return r.choice([low, high, 0, 1, r.randint(low, high), r.randint(max(low, -9), min(high, 9))])


def real(r, name="float64"):
    value = r.choice([r.choice(SPECIAL), r.gauss(0, 1), r.gauss(0, 1e6), round(r.random(), 2)])
    with np.errstate(over="ignore"):
        return float(np.dtype(name).type(value))


def text(r, longest=12, letters=LETTERS):
    # Writers of shared prefixes, such as DELTA_BYTE_ARRAY, have something to share.
    shared = "x" * 500 if r.random() < 0.05 else ""
    return shared + "".join(r.choice(letters) for _ in range(r.choice([0, 1, r.randint(0, longest)])))


def bits(value):
    return "nan" if math.isnan(value) else struct.pack("<d", value).hex()


# ---------------------------------------------------------------- columns of tables: type, a value, field, as told


def scalar(r):
    kind = r.choice(
        [*INTS, "bool", "float16", "float32", "float64", "string", "large_string", "binary", "dictionary"]
    )
    if kind in INTS:
        return getattr(pa, kind)(), lambda: integer(r, kind), {"as": "int"}, str
    if kind == "bool":
        return pa.bool_(), lambda: r.random() < 0.5, {"as": "int"}, lambda v: str(int(v))
    if kind.startswith("float"):
        return (
            getattr(pa, kind)(),
            lambda: real(r, kind),
            {"as": "float", "dtype": "f64"},
            lambda v: bits(float(v)),
        )
    if kind == "binary":
        return (
            pa.binary(),
            lambda: r.randbytes(r.choice([0, 1, 20])),
            {"as": "bytes", "ragged": {"max": 64}},
            bytes.hex,
        )
    words = [text(r) for _ in range(4)]
    if kind == "dictionary":
        return pa.dictionary(pa.int32(), pa.string()), lambda: r.choice(words), {"as": "text"}, str
    return getattr(pa, kind)(), lambda: text(r, r.choice([3, 40])), {"as": "text"}, str


def column(r):
    if r.random() < 0.7:
        return scalar(r)
    name = r.choice([n for n in SHORT if n not in ("bool", "float16")])
    value = (lambda: real(r, name)) if name.startswith("f") else (lambda: integer(r, name))
    kind, fixed = getattr(pa, name)(), r.choice([None, 1, 3])
    field = {"as": "npy", "dtype": SHORT[name], "shape": [fixed or 9]}
    told = lambda v: np.array(v, np.dtype(name).newbyteorder("<")).tobytes().hex()  # noqa: E731
    if fixed:
        return pa.list_(kind, fixed), lambda: [value() for _ in range(fixed)], field, told
    return pa.list_(kind), lambda: [value() for _ in range(r.randint(0, 9))], {**field, "ragged": {}}, told


def table(r, columns, rows):
    """A table, its fields, and how its values are told; a struct has a field for each of its members."""
    made, fields, told = {}, {}, {}
    for i in range(columns):
        kind, value, field, tell = column(r)
        nulls = r.choice([0, 0, 0.1, 1 if r.random() < 0.05 else 0.5])
        values = [None if r.random() < nulls else value() for _ in range(rows)]
        some = r.randrange(rows)  # a column that no row has is a mistake
        values[some] = value()
        name = r.choice([f"c{i}", f"Spalte {i}", f"列{i}"])
        path = name
        if r.random() < 0.15:
            gone = [i != some and r.random() < nulls / 2 for i in range(rows)]
            made[name] = pa.array(
                [None if g else {"m": v} for g, v in zip(gone, values)], pa.struct([("m", kind)])
            )
            path = f"{name}.m"
        else:
            made[name] = pa.array(values, kind)
        missing = MISSING[field["as"]] if field["as"] != "npy" else [] if "ragged" in field else 77
        fields[f"f{i}"] = {"from": path, "missing": missing, **field}
        told[f"f{i}"] = tell
    return pa.table(made), fields, told


def nothing(field):
    """What a null becomes, as it is told."""
    missing = field["missing"]
    if field["as"] == "npy":
        kind = np.dtype(next(name for name, short in SHORT.items() if short == field["dtype"]))
        return (
            np.full(0 if missing == [] else field["shape"], 0 if missing == [] else missing, kind)
            .tobytes()
            .hex()
        )
    return {"int": str, "float": bits, "text": str, "bytes": lambda v: v.encode().hex()}[field["as"]](missing)


def rows_of(read, fields, told):
    found = {}
    for name, field in fields.items():
        first, _, member = field["from"].partition(".")
        values = read[first].to_pylist()
        if member:
            values = [None if v is None else v[member] for v in values]
        found[name] = [nothing(field) if v is None else told[name](v) for v in values]
    return found


# ---------------------------------------------------------------- formats: each gives source, fields, rows[, whole]


def parquet(r, folder):
    made, fields, told = table(r, r.randint(1, 5), r.choice([1, 2, 30, 300, 3000]))
    path, writer = f"{folder}/t.parquet", r.choice(["pyarrow", "pyarrow", "pyarrow", "polars", "duckdb"])
    group = r.choice([1, 7, 100, 10_000]) if len(made) < 400 else r.choice([100, 999, 10_000])
    if writer == "polars":
        frame = polars.from_arrow(made)
        frame.write_parquet(
            path, compression=r.choice(["zstd", "lz4", "snappy", "gzip", "brotli", "uncompressed"]),
            row_group_size=group, data_page_size=r.choice([None, 64, 4096]), statistics=r.random() < 0.5,
        )  # fmt: skip
    elif writer == "duckdb":
        codec = r.choice(["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"])
        version = r.choice(["V1", "V2"])
        with duckdb.connect() as db:
            db.register("made", made)
            db.execute(
                f"copy made to '{path}' (format parquet, codec {codec}, row_group_size {group}, parquet_version {version})"
            )
    else:
        dictionary = r.random() < 0.5
        encodings = None if dictionary else {}
        for field in made.schema:
            if encodings is None or pa.types.is_nested(field.type) or pa.types.is_dictionary(field.type):
                continue
            options = {
                "int": ["DELTA_BINARY_PACKED", "PLAIN", "BYTE_STREAM_SPLIT"],
                "float": ["BYTE_STREAM_SPLIT", "PLAIN"],
                "text": ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"],
            }
            kind = str(field.type)
            wide = kind in ("int32", "int64", "uint32", "uint64")
            sort = "int" if wide else "float" if kind in ("float", "double") else "text"
            if wide or sort == "float" or kind in ("string", "large_string", "binary"):
                encodings[field.name] = r.choice(options[sort])
        pq.write_table(
            made, path, row_group_size=group, use_dictionary=dictionary, column_encoding=encodings or None,
            compression=r.choice(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
            data_page_size=r.choice([None, 64, 1000]), data_page_version=r.choice(["1.0", "2.0"]),
            version=r.choice(["1.0", "2.4", "2.6"]), write_statistics=r.random() < 0.5,
            write_page_index=r.random() < 0.5, write_page_checksum=r.random() < 0.3,
            write_batch_size=r.choice([1, 10, 1024]), store_schema=r.random() < 0.5,
        )  # fmt: skip
    return {"parquet": "t.parquet"}, fields, rows_of(pq.read_table(path), fields, told)


def arrow(r, folder):
    made, fields, told = table(r, r.randint(1, 5), r.choice([1, 2, 30, 300, 3000]))
    options = pa.ipc.IpcWriteOptions(
        compression=r.choice([None, None, "lz4", "zstd"]),
        unify_dictionaries=True,
        emit_dictionary_deltas=r.random() < 0.5,
    )
    new = r.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with new(f"{folder}/t.arrow", made.schema, options=options) as writer:
        writer.write_table(made.unify_dictionaries(), max_chunksize=r.choice([1, 7, 100, 10_000]))
    return {"arrow": "t.arrow"}, fields, rows_of(made, fields, told)


def plain_table(r, null, letters):
    """Columns of numbers and texts for formats of text, with an integer first."""
    kinds = ["int", *(r.choice(["int", "float", "text"]) for _ in range(r.randint(1, 4)))]
    make = {
        "int": lambda: integer(r, "int64"),
        "float": lambda: real(r),
        "text": lambda: text(r, 20, letters),
    }
    rows = [
        [None if i and j and r.random() < null else make[k]() for i, k in enumerate(kinds)]
        for j in range(r.choice([1, 30, 400]))
    ]
    told = {"int": str, "float": bits, "text": str}
    fields, found = {}, {}
    for i, kind in enumerate(kinds):
        dtype = {"dtype": "f64"} if kind == "float" else {}
        fields[f"f{i}"] = {"from": f"c{i}", "as": kind, "missing": MISSING[kind], **dtype}
        found[f"f{i}"] = [nothing(fields[f"f{i}"]) if row[i] is None else told[kind](row[i]) for row in rows]
    return kinds, rows, fields, found


def write_text(r, folder, name, data):
    whole = r.random() < 0.4
    path = f"{folder}/{name}.gz" if whole else f"{folder}/{name}"
    with (gzip.open if whole else open)(path, "wb") as file:
        file.write(data)
    return os.path.basename(path), whole


def table_csv(r, folder):
    quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])
    letters = [letter for letter in LETTERS if letter != "\x00"]
    kinds, rows, fields, found = plain_table(r, 0.1 if quoting == csv.QUOTE_MINIMAL else 0, letters)
    if quoting == csv.QUOTE_MINIMAL:  # an empty text is written as no value
        for i, kind in enumerate(kinds):
            if kind == "text":
                found[f"f{i}"] = [value or MISSING["text"] for value in found[f"f{i}"]]
    delimiter = r.choice([",", ";", "\t", "|"])
    path = f"{folder}/draft"
    with open(path, "w", newline="", encoding=r.choice(["utf8", "utf-8-sig"])) as file:
        writer = csv.writer(
            file, delimiter=delimiter, quoting=quoting, lineterminator=r.choice(["\n", "\r\n"])
        )
        writer.writerow([f"c{i}" for i in range(len(kinds))])
        writer.writerows(
            [["NaN" if isinstance(v, float) and math.isnan(v) else v for v in row] for row in rows]
        )
    with open(path, "rb") as file:
        name, whole = write_text(r, folder, "t.csv", file.read())
    types = {f"c{i}": kind for i, kind in enumerate(kinds)}
    return {"csv": {"path": name, "delimiter": delimiter, "types": types}}, fields, found, whole


def jsonl(r, folder):
    kinds, rows, fields, found = plain_table(r, 0.1, LETTERS)
    for row, i in ((row, i) for row in rows for i, kind in enumerate(kinds) if kind == "float"):
        row[i] = 0.5 if row is rows[0] else None if row[i] is None or not math.isfinite(row[i]) else row[i]
    for i, kind in enumerate(kinds):
        if kind == "float":
            found[f"f{i}"] = [bits(MISSING["float"] if row[i] is None else row[i]) for row in rows]
    nested, ascii = r.random() < 0.3, r.random() < 0.5
    lines = []
    for row in rows:
        pairs = [(f"c{i}", value) for i, value in enumerate(row) if value is not None or r.random() < 0.5]
        r.shuffle(pairs)
        value = {"o": dict(pairs)} if nested else dict(pairs)
        lines.append(json.dumps(value, ensure_ascii=ascii, separators=r.choice([(",", ":"), (", ", ": ")])))
    if nested:
        fields = {name: {**field, "from": f"o.{field['from']}"} for name, field in fields.items()}
    data = r.choice(["\n", "\r\n", "\n\n"]).join(lines) + r.choice(["", "\n"])
    name, whole = write_text(r, folder, "t.jsonl", data.encode())
    return {"jsonl": name}, fields, found, whole


def arrays(r, orders=("<", ">")):
    """Arrays with one first axis."""
    rows, made, fields, found = r.choice([1, 5, 64, 500]), {}, {}, {}
    for i in range(r.randint(1, 3)):
        name = r.choice(list(SHORT))
        shape = r.choice([(), (1,), (3,), (2, 5), (4, 1, 3)])
        kind = np.dtype(name)
        array = np.frombuffer(r.randbytes(rows * math.prod(shape) * kind.itemsize), kind).reshape(
            rows, *shape
        )
        if name == "bool":
            array = array.view("u1") % 2 == 1
        made[f"a{i}"] = np.asarray(array.astype(kind.newbyteorder(r.choice(orders))), order=r.choice("CF"))
        if shape:
            fields[f"f{i}"] = {"from": f"a{i}", "as": "npy", "dtype": SHORT[name], "shape": list(shape)}
            little = np.ascontiguousarray(array.astype(kind.newbyteorder("<")))
            found[f"f{i}"] = [little[row].tobytes().hex() for row in range(rows)]
        elif name.startswith("f"):
            fields[f"f{i}"] = {"from": f"a{i}", "as": "float", "dtype": "f64"}
            found[f"f{i}"] = [bits(float(value)) for value in array]
        else:
            fields[f"f{i}"] = {"from": f"a{i}", "as": "int"}
            found[f"f{i}"] = [str(int(value)) for value in array]
    return made, fields, found


def npy(r, folder):
    made, fields, found = arrays(r)
    np.save(f"{folder}/a.npy", made["a0"])
    source = {"npy": {"path": "a.npy", "rows": "axis", "column": "a0"}}
    return source, {"f0": fields["f0"]}, {"f0": found["f0"]}


def npz(r, folder):
    made, fields, found = arrays(r)
    whole = r.random() < 0.5
    (np.savez_compressed if whole else np.savez)(f"{folder}/a.npz", **made)
    return {"npz": {"path": "a.npz", "rows": "axis"}}, fields, found, whole


def hdf5(r, folder):
    made, fields, found = arrays(r)
    with h5py.File(
        f"{folder}/a.h5", "w", libver=r.choice(["earliest", "latest", ("earliest", "v110")])
    ) as file:
        for name, array in made.items():
            options = {}
            if r.random() < 0.6:
                options["chunks"] = tuple(r.randint(1, size) for size in array.shape)
                options["compression"] = r.choice([None, "gzip", "lzf"])
                options["shuffle"], options["fletcher32"] = r.random() < 0.5, r.random() < 0.3
                if r.random() < 0.3:
                    options["maxshape"] = (None, *array.shape[1:])
            file.create_dataset(name, data=array, **options)
    return {"hdf5": "a.h5"}, fields, found


def zarr_arrays(r, folder):
    version = r.choice([2, 3])
    made, fields, found = arrays(r, "<" if version == 3 else "<>")
    group = zarr.open_group(f"{folder}/a.zarr", mode="w", zarr_format=version)
    for name, array in made.items():
        array = np.ascontiguousarray(array)
        chunks = tuple(r.randint(max(1, size // 8), size) for size in array.shape)
        options = {}
        if version == 3 and r.random() < 0.4:
            options["shards"] = tuple(c * r.randint(1, 3) for c in chunks)
        if version == 3:
            codecs = [
                None,
                zarr.codecs.ZstdCodec(),
                zarr.codecs.GzipCodec(),
                zarr.codecs.BloscCodec(cname=r.choice(["lz4", "zstd", "zlib"])),
            ]
        else:
            import numcodecs

            codecs = [
                None,
                numcodecs.Zstd(),
                numcodecs.GZip(),
                numcodecs.Blosc(r.choice(["lz4", "zstd", "zlib"])),
                numcodecs.LZ4(),
            ]
        stored = group.create_array(
            name, shape=array.shape, dtype=array.dtype, chunks=chunks, compressors=r.choice(codecs), **options
        )
        stored[...] = array
    return {"zarr": "a.zarr"}, fields, found


FORMATS = {
    "parquet": parquet, "arrow": arrow, "csv": table_csv, "jsonl": jsonl,
    "npy": npy, "npz": npz, "hdf5": hdf5, "zarr": zarr_arrays,
}  # fmt: skip
#: Tables have the most ways to be written.
TURNS = [
    "parquet",
    "arrow",
    "parquet",
    "hdf5",
    "parquet",
    "csv",
    "zarr",
    "jsonl",
    "parquet",
    "arrow",
    "npz",
    "npy",
]


def main():
    root, begun, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for seed in range(begun, begun + count):
        name = TURNS[seed % len(TURNS)]
        folder = f"{root}/{seed}"
        os.mkdir(folder)
        try:
            source, fields, rows, *whole = FORMATS[name](random.Random(seed), folder)
        except (
            pa.ArrowInvalid,
            pa.ArrowNotImplementedError,
            polars.exceptions.PolarsError,
            duckdb.Error,
            OSError,
        ) as error:
            print(json.dumps({"seed": seed, "format": name, "unwritten": str(error)}))
            continue
        case = {
            "seed": seed,
            "format": name,
            "source": source,
            "fields": fields,
            "rows": rows,
            "whole": whole == [True],
        }
        print(json.dumps(case))


if __name__ == "__main__":
    main()
