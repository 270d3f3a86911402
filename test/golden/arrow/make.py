"""Makes the Arrow files of this folder and what is in them, with pyarrow and Hugging Face's datasets.

    python test/golden/arrow/make.py

NAME.json.gz has for each column a list of values, as golden.test.ts writes them: numbers; 64-bit integers as
"12n"; bytes and text as "hex:…"; what comes as a string as "s:…"; arrays as {"dtype", "shape", "data"}; NaN
as "nan".
"""

import datetime
import decimal
import gzip
import io
import json
import os
import shutil

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.feather as feather

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "halffloat": "f16", "float": "f32", "double": "f64", "bool": "bool",
}  # fmt: skip


def number(value):
    if isinstance(value, float) or isinstance(value, np.floating):
        value = float(value)
        return "nan" if np.isnan(value) else value
    return value


def is_list(t):
    return pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t)


def leaf(t):
    while is_list(t):
        t = t.value_type
    return t


def is_numbers(t):
    return str(t) in DTYPES or pa.types.is_decimal(t)


def array_of(value, t):
    """Lists of numbers as an array; a null in them is NaN."""
    dtype = "f64" if pa.types.is_decimal(leaf(t)) else DTYPES[str(leaf(t))]
    shape, flat = [], [value]
    while is_list(t):
        lengths = {len(part) for part in flat} or {t.list_size if pa.types.is_fixed_size_list(t) else 0}
        assert len(lengths) == 1
        shape += lengths
        flat = [item for part in flat for item in part]
        t = t.value_type
    big = dtype in ("i64", "u64")
    flat = [float(item) if isinstance(item, decimal.Decimal) else item for item in flat]
    data = ["nan" if item is None else f"{item}n" if big else number(item) for item in flat]
    return {"dtype": dtype, "shape": shape, "data": [int(item) if isinstance(item, bool) else item for item in data]}


def raw(scalar, t):
    """The integer behind a time."""
    return scalar.cast(pa.int32() if t.bit_width == 32 else pa.int64()).as_py()


def plain(scalar, t):
    if isinstance(t, pa.FixedShapeTensorType):
        return {**array_of(scalar.value.as_py(), t.storage_type), "shape": t.shape}
    if isinstance(scalar, pa.ExtensionScalar):
        scalar, t = scalar.value, t.storage_type
    if pa.types.is_dictionary(t):
        return plain(scalar.value, t.value_type) if scalar.is_valid else None
    if not scalar.is_valid or pa.types.is_null(t):
        return None
    if is_list(t):
        value = scalar.as_py()
        if is_numbers(leaf(t)):
            return array_of(value, t)
        return "s:" + json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if pa.types.is_temporal(t):
        value = raw(scalar, t)
        return value if t.bit_width == 32 else f"{value}n"
    value = scalar.as_py()
    if pa.types.is_decimal(t):
        return float(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return "hex:" + value.encode().hex()
    if isinstance(value, bytes):
        return "hex:" + value.hex()
    return f"{value}n" if str(t) in ("int64", "uint64") else number(value)


def expected(table):
    columns = {}

    def add(name, array, t):
        if pa.types.is_struct(t):
            names = [field.name for field in t]
            for field in t:
                child = [
                    (row[field.name] if row.is_valid else pa.scalar(None, field.type)) for row in array
                ]
                add(f"{name}.{field.name}", child, field.type)
            if names == ["bytes", "path"]:
                columns[name] = columns[f"{name}.bytes"]
            return
        columns[name] = [plain(value, t) for value in array]

    for field, column in zip(table.schema, table.columns):
        add(field.name, [value for chunk in column.chunks for value in chunk], field.type)
    return columns


def keep(name, table):
    values = {"pyarrow": pa.__version__, "datasets": datasets.__version__, "columns": expected(table)}
    with open(f"{HERE}/{name}.json.gz", "wb") as file:
        file.write(gzip.compress(json.dumps(values, ensure_ascii=False).encode(), 9, mtime=0))


def every_type():
    n = 11
    some = lambda values: [None if i % 4 == 2 else v for i, v in enumerate(values)]  # noqa: E731
    numbers = lambda low, high: some(np.linspace(low, high, n).astype(object))  # noqa: E731
    times = some([datetime.datetime(2020, 2, 3, 4, 5, 6, 789) + datetime.timedelta(days=i) for i in range(n)])
    columns = {}
    for bits in (8, 16, 32, 64):
        signed = [int(-(2 ** (bits - 1)) + i) if i < n / 2 else 2 ** (bits - 1) - 1 - i for i in range(n)]
        columns[f"i{bits}"] = pa.array(some(signed), getattr(pa, f"int{bits}")())
        columns[f"u{bits}"] = pa.array(some([2**bits - 1 - i for i in range(n)]), getattr(pa, f"uint{bits}")())
    columns["whole"] = pa.array(range(n), pa.int64())
    columns["f16"] = pa.array(some(np.linspace(-2, 2, n).astype(np.float16)), pa.float16())
    columns["f32"] = pa.array(numbers(-1, 1), pa.float32())
    columns["f64"] = pa.array([float("nan") if i == 1 else i / 3 for i in range(n)], pa.float64())
    columns["flag"] = pa.array(some([i % 3 == 0 for i in range(n)]), pa.bool_())
    texts = some(["", "a", "grün", "日本", "🙂🙂🙂🙂", "x" * 40, "\0", "line\nline", "q\"'", "e", "last"])
    for name, t in (("text", pa.utf8()), ("large_text", pa.large_utf8()), ("text_view", pa.string_view())):
        columns[name] = pa.array(texts, t)
    blobs = some([bytes(range(i * 3)) for i in range(n)])
    for name, t in (("bytes", pa.binary()), ("large_bytes", pa.large_binary()), ("bytes_view", pa.binary_view())):
        columns[name] = pa.array(blobs, t)
    columns["id"] = pa.array(some([bytes([i] * 5) for i in range(n)]), pa.binary(5))
    columns["day"] = pa.array(times, pa.date32())
    columns["day_ms"] = pa.array(times, pa.date64())
    columns["time"] = pa.array(some([datetime.time(1, 2, i) for i in range(n)]), pa.time32("s"))
    columns["time_us"] = pa.array(some([datetime.time(1, 2, i, 5) for i in range(n)]), pa.time64("us"))
    columns["stamp"] = pa.array(times, pa.timestamp("us", tz="UTC"))
    columns["took"] = pa.array(some([datetime.timedelta(milliseconds=i) for i in range(n)]), pa.duration("ms"))
    prices = some([decimal.Decimal(i * 1237 - 5000).scaleb(-2) for i in range(n)])
    columns["price"] = pa.array(prices, pa.decimal128(12, 2))
    columns["price_256"] = pa.array(prices, pa.decimal256(60, 2))
    columns["nothing"] = pa.nulls(n)
    columns["list"] = pa.array(some([list(range(i)) for i in range(n)]), pa.list_(pa.int32()))
    columns["large_list"] = pa.array(some([[float(i)] * (i % 3) for i in range(n)]), pa.large_list(pa.float64()))
    columns["holes"] = pa.array([[1.5, None, float(i)] for i in range(n)], pa.list_(pa.float32()))
    columns["flags"] = pa.array([[i % 2 == 0, i % 3 == 0] for i in range(n)], pa.list_(pa.bool_()))
    columns["pair"] = pa.array(some([[i, i + 1] for i in range(n)]), pa.list_(pa.int16(), 2))
    columns["matrix"] = pa.array([[[i, 2, 3], [4, 5, i]] for i in range(n)], pa.list_(pa.list_(pa.uint8())))
    columns["box"] = pa.array([[[i, 2], [3, i], [5, 6]] for i in range(n)], pa.list_(pa.list_(pa.int64(), 2)))
    columns["words"] = pa.array(some([["a", None, "ü"][: i % 4] for i in range(n)]), pa.list_(pa.utf8()))
    columns["turns"] = pa.array(
        some([[{"who": "me", "n": k} for k in range(i % 3)] for i in range(n)]),
        pa.list_(pa.struct([("who", pa.utf8()), ("n", pa.int64())])),
    )
    columns["nested"] = pa.array(
        some([{"a": i, "deep": None if i == 3 else {"b": str(i)}} for i in range(n)]),
        pa.struct([("a", pa.int32()), ("deep", pa.struct([("b", pa.utf8())]))]),
    )
    # The struct is null, and what lies in it is not.
    mask = pa.array([i % 3 == 1 for i in range(n)])
    columns["masked"] = pa.StructArray.from_arrays([pa.array(np.arange(n) / 4)], names=["score"], mask=mask)
    columns["image"] = pa.array(
        some([{"bytes": b"\xff\xd8" + bytes([i]), "path": f"{i}.jpg"} for i in range(n)]),
        pa.struct([("bytes", pa.binary()), ("path", pa.utf8())]),
    )
    kinds = pa.array(some(["cat", "dog", "ox"][i % 3] for i in range(n)))
    columns["kind"] = kinds.dictionary_encode()
    columns["code"] = pa.array(some([i * 1000 for i in range(n)]), pa.int64()).dictionary_encode()
    return pa.table(columns)


def tensors(values):
    kind = pa.fixed_shape_tensor(pa.from_numpy_dtype(values.dtype), values.shape[1:])
    return pa.ExtensionArray.from_storage(kind, pa.array(values.reshape(len(values), -1).tolist(), kind.storage_type))


def odd_numbers():
    """Decimals of more digits than f64 has, zeros with a sign, and arrays that say their shape."""
    digits = "31415926535897932384626433832795028841971693993751058209749445923078164"
    exact = lambda n, scale: [  # noqa: E731
        None if i % 9 == 5 else decimal.Decimal(f"{'-' * (i % 2)}{digits[i : i + 1 + i % n]}E{-scale}") for i in range(40)
    ]
    decimals = {f"d{p}_{s}": pa.array(exact(p, s), pa.decimal128(p, s)) for p, s in ((19, 3), (38, 10), (38, 38), (9, -3))}
    zeros = [(-0.0, 0.0, 1.0)[i % 3] for i in range(40)]
    return pa.table(
        {
            **decimals,
            "d60_20": pa.array(exact(38, 20), pa.decimal256(60, 20)),
            "few": decimals["d19_3"].dictionary_encode(),
            "lists": pa.array([exact(38, 10)[: i % 4] for i in range(40)], pa.list_(pa.decimal128(38, 10))),
            "tensor": tensors(np.arange(40 * 6, dtype=np.int16).reshape(40, 2, 3)),
            "zero": pa.array(zeros, pa.float32()),
            "zeros": pa.array([[zero] for zero in zeros], pa.list_(pa.float64())),
        }
    )


def batches_of(table, rows):
    return table.combine_chunks().to_batches(max_chunksize=rows)


def write(path, table, rows, stream=False, **options):
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches_of(table, rows):
            writer.write_batch(batch)


def main():
    table = every_type()
    keep("types", table)
    write(f"{HERE}/types.arrow", table, 4)
    write(f"{HERE}/types.stream", table, 5, stream=True)
    write(f"{HERE}/types-v4.arrow", table, 11, metadata_version=pa.ipc.MetadataVersion.V4)
    write(f"{HERE}/types-old.stream", table, 11, stream=True, use_legacy_format=True)
    write(f"{HERE}/types.lz4.arrow", table, 6, compression="lz4")
    write(f"{HERE}/types.zstd.stream", table, 6, stream=True, compression="zstd")
    feather.write_feather(table.drop_columns(["text_view", "bytes_view"]), f"{HERE}/types.feather", compression="zstd")

    keep("one", table.slice(4, 1))
    write(f"{HERE}/one.arrow", table.slice(4, 1), 1)
    write(f"{HERE}/empty.arrow", table.slice(0, 0), 1)

    keep("numbers", odd_numbers())
    write(f"{HERE}/numbers.arrow", odd_numbers(), 20)

    # A dictionary that grows, and one that is replaced.
    kind = pa.dictionary(pa.int8(), pa.utf8())
    parts = [["a", "b", "a"], ["c", "a", None], ["a", "b", "c", "d"]]
    dictionaries = [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]
    for name, delta in (("delta", True), ("replaced", False)):
        batches = []
        for values, entries in zip(parts, dictionaries if delta else reversed([["d", "c", "b", "a"]] * 3)):
            codes = pa.array([None if v is None else entries.index(v) for v in values], pa.int8())
            batches.append(pa.record_batch([pa.DictionaryArray.from_arrays(codes, pa.array(entries))], ["kind"]))
        if not delta:
            other = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int8()), pa.array(["x", "y"]))
            batches.append(pa.record_batch([other], ["kind"]))
        schema = pa.schema([("kind", kind)])
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=delta)
        with pa.ipc.new_stream(f"{HERE}/{name}.stream", schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)
        keep(name, pa.Table.from_batches(batches))

    # One large batch, which is read in parts. Kept gzipped.
    n = 60_000
    large = pa.table(
        {
            "n": pa.array(np.arange(n, dtype=np.int64) % 50),
            "maybe": pa.array([None if i % 7 == 3 else i % 50 / 2 for i in range(n)], pa.float64()),
            "text": pa.array([f"row {i % 50}" for i in range(n)]),
            "list": pa.array([[i % 50, -1] if i % 5 else [i % 50] for i in range(n)], pa.list_(pa.int32())),
            "flag": pa.array([i % 3 == 0 for i in range(n)]),
            "holes": pa.array([[0.5, None] if i % 10 == 0 else [float(i % 50)] for i in range(n)], pa.list_(pa.float32())),
        }
    )
    sink = io.BytesIO()
    write(sink, large, n)
    with open(f"{HERE}/large.arrow.gz", "wb") as file:
        file.write(gzip.compress(sink.getvalue(), 9, mtime=0))

    # Rows of 4 kB and more, which are read one by one.
    rows = 6
    pixels = np.arange(rows * 70 * 64, dtype=np.uint8).reshape(rows, 70, 64)
    wide = pa.table(
        {
            "photo": pa.array([None if i == 2 else bytes([i]) * (5000 + 300 * i) for i in range(rows)]),
            "article": pa.array(["ü" * (2500 + i) for i in range(rows)]),
            "tokens": pa.array([list(range(1100 + i)) for i in range(rows)], pa.list_(pa.int32())),
            "fixed": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(rows * 2048, dtype=np.uint16)), 2048),
            "pixels": pa.array(pixels.tolist(), pa.list_(pa.list_(pa.uint8()))),
            "tensor": tensors(pixels[:, :, ::-1]),
            "uneven": pa.array([[[1] * 2100, [2] * (2100 + i)] for i in range(rows)], pa.list_(pa.list_(pa.uint8()))),
            "n": pa.array(range(rows), pa.int32()),
        }
    )
    write(f"{HERE}/wide.stream", wide, 4, stream=True)
    keep("wide", wide.drop_columns(["uneven"]))

    # What is refused: other endianness, and a type that is not read.
    big = bytearray(pa.schema([("n", pa.int32())]).serialize().to_pybytes())
    # pyarrow writes no big-endian data here: the field of the schema's table is found and changed.
    with open(f"{HERE}/big-endian.stream", "wb") as file:
        file.write(big_endian(big))
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    write(f"{HERE}/unread.arrow", pa.table({"either": union, "n": pa.array([1, 2])}), 2)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["a"]))
    both = pa.table({"either": union, "runs": runs, "n": pa.array([1, 2])})
    write(f"{HERE}/unread-v4.arrow", both, 2, metadata_version=pa.ipc.MetadataVersion.V4)

    hugging_face()


def big_endian(message):
    """The message of a schema that says it is big-endian: the table of the schema is given a vtable of its own."""
    i32 = lambda at: int.from_bytes(message[at : at + 4], "little", signed=True)  # noqa: E731
    u16 = lambda at: int.from_bytes(message[at : at + 2], "little")  # noqa: E731
    begin = 8
    root = begin + i32(begin)
    header = root + u16(root - i32(root) + 4 + 2 * 2)
    schema = header + i32(header)
    vtable = schema - i32(schema)
    # Field 0, endianness, i16: two bytes of 1 at the end, and a new vtable behind them.
    old = bytes(message[vtable : vtable + u16(vtable)])
    at = len(message)
    message += b"\x01\x00" + b"\x00" * 6
    place = at - schema
    table = bytearray(old.ljust(6, b"\x00"))
    table[0:2] = len(table).to_bytes(2, "little")
    table[4:6] = place.to_bytes(2, "little")
    new = len(message)
    message += bytes(table).ljust(-(-len(table) // 8) * 8, b"\x00")
    message[schema : schema + 4] = (schema - new).to_bytes(4, "little", signed=True)
    message[4:8] = (len(message) - 8).to_bytes(4, "little")
    return bytes(message)


def hugging_face():
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog", "ox"]),
            "x": datasets.Array2D((2, 3), "float32"),
            "tokens": datasets.Sequence(datasets.Value("int32")),
            "qa": {"text": datasets.Value("string"), "n": datasets.Value("int64")},
        }
    )

    def part(begin, end):
        rows = range(begin, end)
        columns = {
            "image": [{"bytes": b"\xff\xd8\xff" + bytes([i] * 50), "path": None} for i in rows],
            "label": [i % 3 for i in rows],
            "x": [[[i, 1, 2], [3, 4, i]] for i in rows],
            "tokens": [list(range(i % 5)) for i in rows],
            "qa": [{"text": f"t{i}", "n": i} for i in rows],
        }
        return datasets.Dataset.from_dict(columns, features=features)

    folder = f"{HERE}/saved"
    shutil.rmtree(folder, ignore_errors=True)
    splits = datasets.DatasetDict(train=part(0, 25), test=part(25, 30))
    splits.save_to_disk(folder, num_shards={"train": 2, "test": 1})
    keep("saved-train", splits["train"].data.table)
    keep("saved-test", splits["test"].data.table)


if __name__ == "__main__":
    main()
