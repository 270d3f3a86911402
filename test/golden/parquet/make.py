"""Writes the golden Parquet files of the tests, and what pyarrow reads from them as JSON beside them.

Made with pyarrow 26.0.1 and fastparquet 2026.9.0: python make.py
"""

import datetime
import decimal
import json
import math
import pathlib
import shutil
import struct
import uuid

import cramjam
import datasets
import fastparquet
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(7)
manifest = {}


def plain(value):
    """A value as the tests compare it: JSON, with texts for what JSON has not."""
    if isinstance(value, float):
        return repr(value) if math.isnan(value) or math.isinf(value) else value
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and abs(value) >= 2**53:
        return {"int": str(value)}
    return value


def leaves(name, array):
    """Columns by the names of their leaves."""
    if pa.types.is_struct(array.type):
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        flat = pa.Table.from_arrays([pa.chunked_array([array])], names=[name]).flatten()
        for column in flat.column_names:
            yield from leaves(column, flat[column])
    else:
        yield name, array


def integers(array):
    """Dates and times as the integers that are stored."""
    kind = array.type
    if pa.types.is_temporal(kind):
        return array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return array


def write(name, table, expect=None, like=None, **options):
    """Writes a file; `like` names one that has the same values."""
    path = here / f"{name}.parquet"
    pq.write_table(table, path, **options)
    if like is not None:
        manifest[name] = {"like": like}
        return
    keep(name, expect)


def keep(name, expect=None):
    """Notes what is in a file."""
    told = pq.read_table(here / f"{name}.parquet") if expect is None else expect
    columns = {}
    for column in told.column_names:
        for leaf, array in leaves(column, told[column]):
            columns[leaf] = [plain(value) for value in integers(array).to_pylist()]
    manifest[name] = {"rows": told.num_rows, "columns": columns}


def every_type(rows, nulls):
    def some(values, kind):
        if nulls:
            values = [None if i % 3 == 1 else value for i, value in enumerate(values)]
        return pa.array(values, kind)

    n = range(rows)
    day = datetime.date(1999, 12, 31)
    moment = datetime.datetime(2001, 2, 3, 4, 5, 6, 789000)
    return pa.table(
        {
            "bool": some([i % 5 == 0 for i in n], pa.bool_()),
            "i8": some([i % 256 - 128 for i in n], pa.int8()),
            "u8": some([i % 256 for i in n], pa.uint8()),
            "i16": some([i * 37 % 65536 - 32768 for i in n], pa.int16()),
            "u16": some([i * 37 % 65536 for i in n], pa.uint16()),
            "i32": some([(-1) ** i * i * 10**7 % 2**31 for i in n], pa.int32()),
            "u32": some([2**32 - 1 - i for i in n], pa.uint32()),
            "i64": some([(-1) ** i * (2**62 + i) for i in n], pa.int64()),
            "u64": some([2**64 - 1 - i for i in n], pa.uint64()),
            "f16": some([np.float16(i / 8) for i in n], pa.float16()),
            "f32": some([float(np.float32(i / 3)) for i in n], pa.float32()),
            "f64": some(
                [[i / 3, math.nan, math.inf][i % 3 if i % 7 == 0 else 0] for i in n],
                pa.float64(),
            ),
            "date": some([day + datetime.timedelta(i) for i in n], pa.date32()),
            "time": some([i * 1000 for i in n], pa.time64("us")),
            "when": some(
                [moment + datetime.timedelta(i) for i in n], pa.timestamp("us")
            ),
            "when_ms": some(
                [moment + datetime.timedelta(i) for i in n], pa.timestamp("ms")
            ),
            "small": some(
                [decimal.Decimal(i * 7 - 50).scaleb(-2) for i in n], pa.decimal128(7, 2)
            ),
            "large": some(
                [decimal.Decimal((i - 5) * 10**17).scaleb(-10) for i in n],
                pa.decimal128(30, 10),
            ),
            "text": some(
                [["", "grün", "日本語", "x" * 40][i % 4] + str(i) for i in n],
                pa.string(),
            ),
            "few": some([["cat", "dog", ""][i % 3] for i in n], pa.string()),
            "bytes": some([bytes([i % 256]) * (i % 7) for i in n], pa.binary()),
            "fixed": some([bytes([i % 256, 1, 2]) for i in n], pa.binary(3)),
            "list": some(
                [[j * i for j in range(i % 4)] for i in n], pa.list_(pa.int32())
            ),
            "floats": some(
                [[0.5 * i, None, 1.0][: i % 4] for i in n], pa.list_(pa.float32())
            ),
            "words": some(
                [["a", None, "ü" * i][: i % 4] for i in n], pa.list_(pa.string())
            ),
            "struct": some(
                [{"a": i, "b": {"c": str(i)}} for i in n],
                pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))]),
            ),
            "boxes": some(
                [[{"x": i, "y": None if j else 0.5} for j in range(i % 3)] for i in n],
                pa.list_(pa.struct([("x", pa.int16()), ("y", pa.float64())])),
            ),
        }
    )


def told(table):
    """The table with lists of structs as the lists of their members."""
    boxes = table["boxes"].to_pylist()
    out = table.drop(["boxes"])
    for member, kind in [("x", pa.int16()), ("y", pa.float64())]:
        lists = [None if row is None else [box[member] for box in row] for row in boxes]
        out = out.append_column(f"boxes.{member}", pa.array(lists, pa.list_(kind)))
    return out


full, holey = every_type(60, False), every_type(60, True)
write("plain", full, told(full), use_dictionary=False, compression="none")
write("dictionary", full, like="plain", compression="snappy", row_group_size=25)
write(
    "nulls",
    holey,
    told(holey),
    compression="zstd",
    row_group_size=17,
    data_page_size=64,
)
write(
    "nulls-v2",
    holey,
    like="nulls",
    compression="gzip",
    data_page_version="2.0",
    row_group_size=31,
)
write("one-row", full.slice(3, 1), told(full.slice(3, 1)), compression="none")
write("empty", full.slice(0, 0), told(full.slice(0, 0)), compression="none")

# Decimals of more digits than f64 has.
digits = "31415926535897932384626433832795028841971693993751058209749445923078164"
decimals = {}
for precision, scale in [(9, 2), (18, 6), (19, 3), (38, 10), (38, 38)]:
    exact = [
        decimal.Decimal(f"{'-' * (i % 2)}{digits[i : i + 1 + i % precision]}E-{scale}")
        for i in range(40)
    ]
    kind = pa.decimal128(precision, scale)
    decimals[f"d{precision}_{scale}"] = pa.array(exact, kind)
    decimals[f"l{precision}_{scale}"] = pa.array([[one] for one in exact])
write(
    "decimals", pa.table(decimals), compression="zstd", store_decimal_as_integer=True
)

texts = [
    f"{['http://example.org/', 'http://example.com/', ''][i % 3]}{i * i}"
    for i in range(200)
]
numbers = pa.table(
    {
        "text": pa.array(texts),
        "holes": pa.array(
            [None if i % 4 == 0 else text for i, text in enumerate(texts)]
        ),
        "bytes": pa.array([text.encode() for text in texts], pa.binary()),
        "fixed": pa.array(
            [uuid.UUID(int=i * 2**90 + i).bytes for i in range(200)], pa.binary(16)
        ),
        "i32": pa.array(rng.integers(-(2**31), 2**31, 200), pa.int32()),
        "i64": pa.array(rng.integers(-(2**63), 2**63, 200), pa.int64()),
        "steps": pa.array(np.arange(200) * 3, pa.int64()),
        "u8": pa.array(np.arange(200) % 256, pa.uint8()),
        "f32": pa.array(rng.normal(size=200), pa.float32()),
        "f64": pa.array(rng.normal(size=200), pa.float64()),
        "lists": pa.array(
            [list(range(i % 5)) for i in range(200)], pa.list_(pa.int64())
        ),
        "flag": pa.array([i % 11 == 0 for i in range(200)]),
    }
)
write("codec-none", numbers, compression="none")
for codec in ["snappy", "gzip", "brotli", "lz4", "zstd"]:
    write(f"codec-{codec}", numbers, like="codec-none", compression=codec)


def hadoop(data, *_):
    """Blocks of lz4 behind their sizes in big-endian, as Hadoop and old versions of parquet-mr write them."""
    out = b""
    for at in range(0, len(data), 500):
        part = bytes(data[at : at + 500])
        packed = bytes(cramjam.lz4.compress_block(part, store_size=False))
        out += struct.pack(">II", len(part), len(packed)) + packed
    return out


fastparquet.compression.compressions["LZ4"] = hadoop
frame = numbers.select(["text", "i64", "f32", "flag"])
fastparquet.write(
    str(here / "codec-hadoop-lz4.parquet"), frame.to_pandas(), compression="LZ4"
)
keep("codec-hadoop-lz4")
delta = {
    "text": "DELTA_BYTE_ARRAY",
    "holes": "DELTA_BYTE_ARRAY",
    "bytes": "DELTA_LENGTH_BYTE_ARRAY",
    "fixed": "DELTA_BYTE_ARRAY",
    "i32": "DELTA_BINARY_PACKED",
    "i64": "DELTA_BINARY_PACKED",
    "steps": "DELTA_BINARY_PACKED",
    "u8": "DELTA_BINARY_PACKED",
    "f32": "BYTE_STREAM_SPLIT",
    "f64": "BYTE_STREAM_SPLIT",
    "lists.list.element": "DELTA_BINARY_PACKED",
    "flag": "RLE",
}
for version in ["1.0", "2.0"]:
    write(
        f"delta-{version[0]}",
        numbers,
        use_dictionary=False,
        column_encoding=delta,
        data_page_version=version,
        compression="zstd",
        like="codec-none",
    )
split = {
    "i32": "BYTE_STREAM_SPLIT",
    "i64": "BYTE_STREAM_SPLIT",
    "fixed": "BYTE_STREAM_SPLIT",
    "text": "DELTA_LENGTH_BYTE_ARRAY",
}
write(
    "split",
    numbers,
    like="codec-none",
    use_dictionary=False,
    column_encoding=split,
    compression="snappy",
)

# Many pages: of version 1, which don't say which rows of lists they have, and of version 2.
pages = {"write_batch_size": 7, "data_page_size": 50, "compression": "zstd"}
write("pages-1", numbers, like="codec-none", use_dictionary=False, **pages)
write(
    "pages-2",
    numbers,
    like="codec-none",
    data_page_version="2.0",
    write_page_index=True,
    **pages,
)

wide = pa.table(
    {
        "text": pa.array(
            [
                f"{i % 50} {'long ' * (i % 9)}{i if i > 300 else i % 20}"
                for i in range(700)
            ]
        )
    }
)
write(
    "fallback",
    wide,
    compression="snappy",
    dictionary_pagesize_limit=400,
    data_page_size=256,
)

# Texts that share long beginnings, of which DELTA_BYTE_ARRAY writes what is new. Arrow's footer counts that alone.
prefixes = pa.table(
    {
        "same": ["x" * 1000] * 50,
        "paths": [None if i % 7 == 3 else f"/data/{'deep/' * 40}part-{i // 5}/{i}" for i in range(50)],
        "words": pa.array([[f"{'w' * 60}{i + k}" for k in range(i % 4)] or None for i in range(50)]),
    }
)
as_prefixes = {"same": "DELTA_BYTE_ARRAY", "paths": "DELTA_BYTE_ARRAY", "words.list.element": "DELTA_BYTE_ARRAY"}
for version in ["1.0", "2.0"]:
    write(
        f"prefixes-{version[0]}",
        prefixes,
        use_dictionary=False,
        column_encoding=as_prefixes,
        data_page_version=version,
        write_batch_size=5,
        data_page_size=50,
        compression="snappy",
    )

# Pages with checksums, of both versions.
checked = pa.table({"x": pa.array(range(1000), pa.int64()), "text": [f"row {i}" for i in range(1000)]})
for version in ["1.0", "2.0"]:
    write(
        f"checksums-{version[0]}",
        checked,
        use_dictionary=["text"],
        data_page_version=version,
        data_page_size=2000,
        compression="none",
        write_page_checksum=True,
    )

# Lists in lists: of numbers they are arrays.
squares = [[[i * 100 + 10 * j + k for k in range(3)] for j in range(2)] for i in range(40)]
some = [None if i % 7 == 3 else [] if i % 7 == 5 else one for i, one in enumerate(squares)]
nested = pa.table(
    {
        "square": pa.array(squares, pa.list_(pa.list_(pa.float32()))),
        "some": pa.array(some, pa.list_(pa.list_(pa.int64()))),
        "sides": pa.array([[[k] * (i % 3)] * (i % 4) for i, k in enumerate(range(40))], pa.list_(pa.list_(pa.int16()))),
        "cube": pa.array([[one, one] for one in squares], pa.list_(pa.list_(pa.list_(pa.float64())))),
        "holes": pa.array([[[None, 1.5], [2.5, None]]] * 40, pa.list_(pa.list_(pa.float64()))),
        "flags": pa.array([[[True, i % 2 == 0]] for i in range(40)]),
        "boxes": pa.array([[{"p": [i, i + 1]}, {"p": [0, 9]}] for i in range(40)], pa.list_(pa.struct([("p", pa.list_(pa.int32()))]))),
    }
)
told = nested.set_column(6, "boxes.p", pa.array([[one["p"] for one in row] for row in nested["boxes"].to_pylist()]))
for version in ["1.0", "2.0"]:
    options = {"data_page_version": version, "write_batch_size": 7, "data_page_size": 60, "row_group_size": 30}
    write(f"nested-{version[0]}", nested, told, **options)
uneven = [[[1, 2], [3]], [[1], None], [[1, 2], [3, None]], [[1], [2]]]
pq.write_table(pa.table({"x": pa.array(uneven, pa.list_(pa.list_(pa.int32())))}), here / "uneven.parquet")

# Folders that tell columns, as Hive names them, and what pyarrow's datasets make of these.
parts = pa.table(
    {
        "id": pa.array(range(24)),
        "year": [2020 + i % 3 for i in range(24)],
        "kind": [["a b/c", None, "gr\u00fcn", "07"][i % 4] for i in range(24)],
    }
)
shutil.rmtree(here / "hive", ignore_errors=True)
pq.write_to_dataset(parts, here / "hive", partition_cols=["year", "kind"], basename_template="part-{i}.parquet")
told = pa.dataset.dataset(here / "hive", partitioning="hive").to_table().sort_by("id")
hive = {name: [plain(value) for value in told[name].to_pylist()] for name in ["id", "year", "kind"]}
# Of the folder that is named, and those above it, no columns are made.
hive["below"] = pa.dataset.dataset(here / "hive" / "year=2020", partitioning="hive").schema.names
(here / "hive" / "expected.json").write_text(json.dumps(hive) + "\n")

# Categories: every row group has all of them in its dictionary, most without a row.
names = pa.array([f"class {i} {'x' * (i % 5)}" for i in range(50)])
codes = [None if i % 9 == 4 else i * 7 % 20 + 30 * (i % 2) for i in range(60)]
kinds = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), names)
categories = pa.table({"kind": kinds, "id": pa.array(range(60))})
write("categories", categories, categories, compression="zstd", row_group_size=13)
# Two chunks whose dictionaries differ: the values of the second follow the dictionary of the first.
others = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), names[::-1])
halves = pa.chunked_array([kinds[:20], others[20:]])
write(
    "categories-differ", pa.table({"kind": halves, "id": range(60)}), compression="none"
)

moments = pa.table(
    {
        "when": pa.array(
            [datetime.datetime(1970, 1, 1), datetime.datetime(1750, 5, 6, 7), None],
            pa.timestamp("ns"),
        )
    }
)
write("int96", moments, use_deprecated_int96_timestamps=True)
# Years that 64 bits of nanoseconds do not hold.
far = pa.array([datetime.datetime(2000, 1, 1), datetime.datetime(9999, 12, 31)])
far_moments = pa.table({"when": far.cast(pa.timestamp("us"))})
pq.write_table(
    far_moments, here / "int96-far.parquet", use_deprecated_int96_timestamps=True
)

# A row group without rows, before others.
few = pa.table({"id": pa.array(range(6))})
with pq.ParquetWriter(here / "gap.parquet", few.schema) as writer:
    for part in [few.slice(0, 0), few.slice(0, 3), few.slice(3)]:
        writer.write_table(part)
keep("gap")

images = pa.table(
    {
        "image": pa.array(
            [{"bytes": b"\xff\xd8" + bytes([i]), "path": f"{i}.jpg"} for i in range(5)],
            pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
        ),
        "label": pa.array(range(5), pa.int64()),
    }
)
write("images", images)
paths = [{"bytes": None if i else b"\xff\xd8", "path": f"{i}.jpg"} for i in range(3)]
pictures = pa.array(paths, images["image"].type)
pq.write_table(pa.table({"image": pictures, "id": range(3)}), here / "paths.parquet")
deep = pa.table(
    {
        "deep": pa.array([[[1], [2, 3]]], pa.list_(pa.list_(pa.int32()))),
        "blobs": pa.array([[b"a", b"b"]]),
        "id": pa.array([1]),
    }
)
pq.write_table(deep, here / "deep.parquet")
maps = pa.table(
    {
        "map": pa.array(
            [[("a", 1), ("b", None)], None, []], pa.map_(pa.string(), pa.float64())
        )
    }
)
lists = pa.table(
    {
        "map.key": pa.array([["a", "b"], None, []]),
        "map.value": pa.array([[1, None], None, []], pa.list_(pa.float64())),
    }
)
write("map", pa.table({"map": maps["map"]}), lists)

# A row group of more than 64 MB, decompressed: it is divided at its pages.
n = 35_000
large = pa.table(
    {
        "id": pa.array(np.arange(n)),
        "text": pa.array([f"{i} " + "x" * 2000 for i in range(n)]),
        "list": pa.array([[i] * (i % 3) for i in range(n)], pa.list_(pa.int32())),
        "few": pa.array([None if i % 7 == 0 else f"class {i % 10}" for i in range(n)]),
    }
)
pq.write_table(
    large,
    here / "large.parquet",
    compression="zstd",
    compression_level=19,
    row_group_size=n,
    use_dictionary=["few"],
    column_encoding={"id": "DELTA_BINARY_PACKED"},
    write_page_index=True,
    data_page_size=1 << 18,
)

# The same, of lists in pages of version 1, without an index of pages: rows reach from one page into the next.
n = 20_000
lists = pa.table(
    {
        "id": pa.array(np.arange(n)),
        "list": pa.array([[i] * (i % 1999) for i in range(n)], pa.list_(pa.int32())),
    }
)
pq.write_table(
    lists,
    here / "large-lists.parquet",
    compression="zstd",
    compression_level=19,
    row_group_size=n,
    use_dictionary=False,
    column_encoding={"id": "DELTA_BINARY_PACKED"},
)

# As Hugging Face's datasets write it, with names of classes.
features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog", "ox"])})
datasets.Dataset.from_dict({"label": [0, 2, 1, 0]}, features=features).to_parquet(here / "labels.parquet")

(here / "expected.json").write_text(
    json.dumps({"pyarrow": pa.__version__, "files": manifest}, separators=(",", ":"))
    + "\n"
)
