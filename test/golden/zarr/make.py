"""Makes Zarr stores of every kind that can be read, and what zarr-python finds in them.

    python3 test/golden/zarr/make.py        (needs zarr 3.1, numcodecs, xarray and TensorStore; made with the versions in stores.json)

stores.json has them all: `files` of each store by path, in base64; `columns` as zarr-python reads them: `dtype`, `shape` and
`hex`, the elements in C order, little-endian, or `texts`. `source` has the options of the source beside the path.
"""

import base64
import json
import pathlib
import shutil
import tempfile
import warnings
import zipfile

import numcodecs
import numcodecs.zarr3
import numpy as np
import tensorstore
import xarray
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).parent
NAMES = {"u1": "u8", "i1": "i8", "b1": "bool", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "i8": "i64"}
NAMES |= {"u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64"}
random = np.random.default_rng(3)
stores = []


def values(kind, shape):
    """Small differences between neighbours, so that codecs have something to do; every bit is used somewhere."""
    kind = np.dtype(kind)
    if kind.kind == "b":
        return random.integers(0, 2, shape).astype(kind)
    if kind.kind == "c":
        return (values("f4", shape) + 1j * values("f4", shape)).astype(kind)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        edges = random.integers(info.min, info.max, shape, dtype=kind.newbyteorder("="), endpoint=True)
        slow = np.arange(edges.size).reshape(shape) % 100
        return np.where(random.random(shape) < 0.2, edges, slow.astype(edges.dtype)).astype(kind)
    if kind.kind in "Mm":
        return random.integers(-1000, 100000, shape).astype(kind)
    return (random.standard_normal(shape) * 100).astype(kind)


def column(array):
    data = np.asarray(array[...])
    if data.dtype.kind in "OTUS":
        texts = [one.decode("latin1") if isinstance(one, bytes) else str(one) for one in data.reshape(-1)]
        return {"shape": list(data.shape), "texts": texts}
    if data.dtype.kind in "Mm":
        data = data.astype("i8")
    if data.dtype.kind == "c":
        data = np.stack([data.real, data.imag], axis=-1)
    data = np.ascontiguousarray(data)
    kind = f"{data.dtype.kind}{data.dtype.itemsize}"
    plain = data.astype(data.dtype.newbyteorder("<"))
    return {"dtype": NAMES[kind], "shape": list(data.shape), "hex": plain.tobytes().hex()}


def keep(name, folder, columns, source=None):
    files = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = base64.b64encode(path.read_bytes()).decode()
    read = {key: column(array) for key, array in columns.items()}
    stores.append({"name": name, "files": files, "columns": read, **({"source": source} if source else {})})


def store(name, data, drop=(), touch=None, **options):
    """One array. `drop` names chunks that are removed; `touch` may change the files."""
    folder = tempfile.mkdtemp()
    array = zarr.create_array(folder, shape=data.shape, dtype=options.pop("dtype", data.dtype), overwrite=True, **options)
    array[...] = data
    for key in drop:
        (pathlib.Path(folder) / key).unlink()
    if touch is not None:
        touch(pathlib.Path(folder))
    keep(name, folder, {"data": zarr.open_array(folder, mode="r")})
    shutil.rmtree(folder)


V2 = {"zarr_format": 2, "compressors": None, "filters": None}
V3 = {"zarr_format": 3, "compressors": None}

# ---- element types, in both versions, little- and big-endian
for kind in [*NAMES, "c8", "c16", "M8[s]", "m8[ms]"]:
    orders = "|" if np.dtype(kind).itemsize == 1 else "<>"
    for order in orders:
        full = kind if order == "|" else order + kind
        data = values(full, (7, 3))
        squeeze = numcodecs.Zstd() if order == "<" else None
        store(f"v2 {full}", data, chunks=(3, 2), **{**V2, "compressors": squeeze})
        serializer = {} if order == "|" else {"serializer": BytesCodec(endian="little" if order == "<" else "big")}
        store(f"v3 {full}", data, chunks=(3, 2), dtype=data.dtype.newbyteorder("="), **V3, **serializer)
store("v2 S5", np.array([b"a", b"bcd", b"", b"defgh", b"x"]), chunks=(2,), **V2)
store("v2 U4", np.array(["a", "bcd", "", "日本🎉é", "x"]), chunks=(2,), **{**V2, "compressors": numcodecs.Zlib()})
store("v2 U4 big", np.array(["a", "日本🎉é", "x"]).astype(">U4"), chunks=(2,), **V2)
store("v3 S5", np.array([b"a", b"bcd", b"", b"defgh", b"x"]), chunks=(2,), **V3)
store("v3 U4", np.array(["a", "bcd", "", "日本🎉é", "x"]), chunks=(2,), zarr_format=3)

texts = np.array(["a", "日本🎉é", "", "x" * 300, "last", "y", "z"], object)
for squeeze in (None, numcodecs.Zstd(), numcodecs.Blosc(), numcodecs.LZ4(), numcodecs.GZip()):
    options = {**V2, "filters": "auto", "compressors": squeeze}
    store(f"v2 texts {squeeze and squeeze.codec_id}", texts, chunks=(3,), dtype=str, **options)
store("v2 texts, some missing", texts, ["1"], chunks=(3,), dtype=str, fill_value="fill", **{**V2, "filters": "auto"})
many = np.array([f"text number {i}" for i in range(2000)], object)
store("v3 many texts", many[:600], chunks=(500,), dtype=str, zarr_format=3)
for squeeze in (None, "auto", GzipCodec(), BloscCodec()):
    store(f"v3 texts {squeeze}", texts, chunks=(3,), dtype=str, zarr_format=3, compressors=squeeze)
store("v3 texts in shards", texts, chunks=(2,), shards=(4,), dtype=str, zarr_format=3)

# ---- shapes, orders, chunks and their edges
for name, shape, chunks in [
    ("one row", (1, 4), (1, 4)),
    ("one", (1,), (1,)),
    ("chunk larger than the array", (3, 2), (10, 10)),
    ("odd edges", (7, 5, 4), (2, 3, 3)),
    ("chunk is a row", (5, 6), (1, 6)),
    ("whole", (6, 4), (6, 4)),
    ("line", (11,), (4,)),
    ("no width", (4, 0), (2, 1)),
]:
    data = values("<i4", shape)
    for order in "CF":
        for squeeze in (None, numcodecs.Blosc("lz4")):
            kind = "plain" if squeeze is None else "blosc"
            store(f"v2 {name}, {order}, {kind}", data, chunks=chunks, order=order, **{**V2, "compressors": squeeze})
    store(f"v3 {name}", data, chunks=chunks, zarr_format=3)
    if data.ndim > 1:
        axes = list(reversed(range(data.ndim)))
        store(f"v3 {name}, transposed", data, chunks=chunks, filters=[TransposeCodec(order=axes)], **V3)
store("v3 axes in another order", values("<f4", (5, 3, 4)), chunks=(2, 2, 3), filters=[TransposeCodec(order=(1, 2, 0))], **V3)

# ---- keys
for separator in "./":
    encoding = {"name": "v2", "separator": separator}
    store(f"v2 keys {separator}", values("<u2", (5, 4)), chunks=(2, 3), chunk_key_encoding=encoding, **V2)
    store(f"v3 v2 keys {separator}", values("<u2", (5, 4)), chunks=(2, 3), chunk_key_encoding=encoding, **V3)
    encoding = {"name": "default", "separator": separator}
    store(f"v3 keys {separator}", values("<u2", (5, 4)), chunks=(2, 3), chunk_key_encoding=encoding, **V3)

# ---- fill values, and chunks that are not there
for name, kind, fill in [
    ("none", "<i4", None),
    ("number", "<i4", -7),
    ("NaN", "<f4", np.nan),
    ("infinity", "<f8", -np.inf),
    ("half", ">f2", 1.5),
    ("true", "|b1", True),
    ("wide", "<i8", 2**63 - 1),
    ("wide unsigned", "<u8", 2**64 - 1),
    ("complex", "<c8", 1 - 2j),
]:
    for version in (2, 3):
        data = values(kind, (5, 4))
        for squeeze in ("auto", None):
            options = {"zarr_format": version, "compressors": squeeze, "fill_value": fill}
            key = "0.1" if version == 2 else "c/0/1"
            drop = [key, key.replace("0", "1", 1)]
            store(f"v{version} fill {name} {squeeze}", data, drop, chunks=(2, 3), **options)
store("v2 fill text", np.array(["a", "b", "c"], "U3"), ["1"], chunks=(1,), fill_value="日x", **V2)
store("v2 fill bytes", np.array([b"a", b"b", b"c"], "S3"), ["1"], chunks=(1,), fill_value=b"xy", **V2)


def bits(folder):
    text = (folder / "zarr.json").read_text()
    (folder / "zarr.json").write_text(text.replace('"fill_value": 0.0', '"fill_value": "0x7fc00abc"'))


store("v3 fill bits", values("<f4", (4,)), ["c/1"], bits, chunks=(2,), zarr_format=3)

# ---- codecs of version 2
long = values("<i4", (30, 20))
for squeeze in [numcodecs.Zlib(), numcodecs.GZip(), numcodecs.Zstd(), numcodecs.Zstd(checksum=True), numcodecs.LZ4()]:
    store(f"v2 {squeeze.codec_id} {squeeze.get_config()}", long, chunks=(14, 20), **{**V2, "compressors": squeeze})
for name in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
    for shuffle in (0, 1, 2):
        squeeze = numcodecs.Blosc(name, shuffle=shuffle)
        store(f"v2 blosc {name} {shuffle}", long, chunks=(14, 20), **{**V2, "compressors": squeeze})
noise = random.integers(0, 256, (30, 20), dtype=np.uint8)
store("v2 blosc of noise", noise, chunks=(14, 20), **{**V2, "compressors": numcodecs.Blosc("lz4")})
for filters in [
    [numcodecs.Shuffle(4)],
    [numcodecs.Delta("<i4")],
    [numcodecs.Delta("<i4"), numcodecs.Shuffle(4)],
    [numcodecs.checksum32.CRC32()],
    [numcodecs.checksum32.Adler32()],
    [numcodecs.Fletcher32()],
    [numcodecs.Zlib(), numcodecs.LZ4()],
]:
    name = " ".join(one.codec_id for one in filters)
    for squeeze in (None, numcodecs.Zstd()):
        store(f"v2 {name} {squeeze is not None}", long, chunks=(14, 20), **{**V2, "filters": filters, "compressors": squeeze})
for kind in ("|u1", "|i1", "<u2", "<i2", "<u4", "<u8", "<i8", "<f4", "<f8"):
    store(f"v2 delta {kind}", values(kind, (9, 5)), chunks=(4, 5), **{**V2, "filters": [numcodecs.Delta(kind)]})
smooth = np.linspace(0, 1, 60, dtype="f4").reshape(20, 3)
store("v2 bitround", smooth, chunks=(8, 3), **{**V2, "filters": [numcodecs.BitRound(8)], "compressors": numcodecs.Zlib()})

# ---- codecs of version 3, and shards
for squeeze in [GzipCodec(), ZstdCodec(), ZstdCodec(checksum=True), Crc32cCodec()]:
    store(f"v3 {squeeze}", long, chunks=(14, 20), zarr_format=3, compressors=squeeze)
for name in ("blosclz", "lz4", "zstd"):
    for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
        squeeze = BloscCodec(cname=name, shuffle=shuffle)
        store(f"v3 blosc {name} {shuffle}", long, chunks=(14, 20), zarr_format=3, compressors=squeeze)
store("v3 zstd, then crc32c", long, chunks=(14, 20), zarr_format=3, compressors=[ZstdCodec(), Crc32cCodec()])
store("v3 numcodecs", long, chunks=(14, 20), zarr_format=3, compressors=[numcodecs.zarr3.Shuffle(elementsize=4), numcodecs.zarr3.LZ4()])
for location in ("start", "end"):
    for squeeze in (None, "auto", GzipCodec()):
        shards = {"shape": (4, 6), "index_location": location}
        store(f"v3 shards {location} {squeeze}", values("<i2", (9, 10)), chunks=(2, 3), zarr_format=3, compressors=squeeze, shards=shards)
big = ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(endian="big")], index_codecs=[BytesCodec(endian="big")], index_location="start")
store("v3 shards, big-endian", values("<i2", (9, 10)), chunks=(4, 6), serializer=big, **V3)
turned = ShardingCodec(chunk_shape=(2, 3), codecs=[TransposeCodec(order=(1, 0)), BytesCodec(), ZstdCodec()])
store("v3 shards, transposed inside", values("<i2", (9, 10)), chunks=(4, 6), serializer=turned, **V3)
inner = ShardingCodec(chunk_shape=(2, 2), codecs=[BytesCodec(), BloscCodec()], index_location="start")
nested = ShardingCodec(chunk_shape=(4, 4), codecs=[inner])
store("v3 shards in shards", values("<i2", (13, 10)), chunks=(8, 8), serializer=nested, **V3)
inner = ShardingCodec(chunk_shape=(2, 2), codecs=[BytesCodec()])
nested = ShardingCodec(chunk_shape=(4, 4), codecs=[inner], index_location="start")
store("v3 plain shards in shards", values("<i2", (13, 10)), chunks=(8, 8), serializer=nested, **V3)
sparse = values("<i2", (16, 6))
sparse[2:6] = 0
sparse[8:] = 0
store("v3 shards with chunks left out", sparse, chunks=(2, 3), shards=(8, 6), zarr_format=3, fill_value=0, config={"write_empty_chunks": False})

# ---- groups
for version in (2, 3):
    for consolidated in (False, True):
        folder = tempfile.mkdtemp()
        group = zarr.open_group(folder, mode="w", zarr_format=version, attributes={"title": "ünï", "_FillValue": float("nan")})
        group.create_array("image", data=values("|u1", (10, 4, 3)), chunks=(3, 4, 3))
        group.create_array("label", data=np.arange(10), chunks=(7,))
        group.create_array("deep/name", data=values("<f4", (10, 2)), chunks=(4, 1), compressors=None)
        group.create_array("alone", data=np.array(5))
        if consolidated:
            zarr.consolidate_metadata(folder)
        read = {name: group[name] for name in ("image", "label", "deep/name")}
        keep(f"v{version} group, consolidated {consolidated}", folder, read)
        shutil.rmtree(folder)
folder = tempfile.mkdtemp()
group = zarr.open_group(folder, mode="w", zarr_format=3)
lengths = [3, 1, 4]
for i, length in enumerate(lengths):
    group.create_array(f"data/demo_{i}/obs/img", data=values("|u1", (length, 2, 2)), chunks=(2, 2, 2))
    group.create_array(f"data/demo_{i}/action", data=values("<f4", (length, 3)), chunks=(1, 3))
demos = [group[f"data/demo_{i}"] for i in range(3)]
joined = {name: np.concatenate([demo[name][...] for demo in demos]) for name in ("obs/img", "action")}
keep("v3 parts", folder, joined, {"arrays": ["data/*/obs/img", "data/*/action"]})
shutil.rmtree(folder)

# ---- archives
for version in (2, 3):
    folder = tempfile.mkdtemp()
    with zarr.storage.ZipStore(f"{folder}/a.zarr.zip", mode="w") as archive:
        group = zarr.open_group(archive, mode="w", zarr_format=version)
        group.create_array("x", data=values("<i4", (9, 4)), chunks=(4, 3))
        group.create_array("plain", data=values("<i2", (9, 4)), chunks=(4, 4), compressors=None)
        if version == 3:
            group.create_array("shards", data=values("<i4", (9, 4)), chunks=(2, 2), shards=(4, 4))
            group.create_array("texts", data=np.array([f"text {i}" for i in range(9)], "T"), chunks=(4,))
        group.attrs["written"] = "again, so the archive has its metadata twice"
    with zarr.storage.ZipStore(f"{folder}/a.zarr.zip", mode="r") as archive:
        group = zarr.open_group(archive, mode="r")
        keep(f"v{version} archive", folder, dict(group.arrays()))
    shutil.rmtree(folder)
folder = tempfile.mkdtemp()
array = zarr.create_array(f"{folder}/b.zarr", data=values("<i4", (9, 4)), chunks=(4, 3))
with zipfile.ZipFile(f"{folder}/b.zarr.zip", "w", zipfile.ZIP_STORED) as file:
    for path in sorted(pathlib.Path(folder, "b.zarr").rglob("*")):
        file.write(path, path.relative_to(folder), zipfile.ZIP_DEFLATED if path.name == "zarr.json" else None)
read = {"data": array[...]}
shutil.rmtree(f"{folder}/b.zarr")
keep("v3 archive of a folder", folder, read)
shutil.rmtree(folder)

# ---- other writers, and what zarr-python makes of metadata that leaves something out
for kind in ("<M8[s]", ">m8[ms]"):
    store(f"v2 fill none {kind}", values(kind, (5, 4)), ["0.1", "1.0"], chunks=(2, 3), fill_value=None, **V2)
for version in (2, 3):
    for consolidated in (False, True):
        folder = tempfile.mkdtemp()
        dims = ("time", "lat", "lon")
        grid = xarray.Dataset(
            {"t2m": (dims, np.arange(24, dtype="f4").reshape(4, 3, 2) / 3), "rain": (dims[:2], np.arange(12).reshape(4, 3))},
            {"time": np.arange(4) * 6, "lat": [10.5, 20.5, 30.5], "lon": [1.0, 2.0]},
            {"scale": 0.1 + 0.2},
        )
        grid.to_zarr(folder, zarr_format=version, consolidated=consolidated, mode="w")
        group = zarr.open_group(folder, mode="r")
        keep(f"v{version} xarray, consolidated {consolidated}", folder, {name: group[name] for name in ("rain", "t2m", "time")})
        shutil.rmtree(folder)
folder = tempfile.mkdtemp()
data = values("<i2", (9, 8))
data[2:4, :2] = 0  # this chunk is not stored: none that lies beyond must be taken for it
array = zarr.create_array(folder, data=data, chunks=(2, 2), shards=(8, 8))
array.resize((5, 3))  # the shard still has the chunks that lie beyond
keep("v3 shards of an array that became smaller", folder, {"data": array})
shutil.rmtree(folder)
twice = [TransposeCodec(order=(1, 2, 0)), TransposeCodec(order=(1, 0, 2))]
store("v3 transposed twice", values("<i4", (5, 3, 4)), chunks=(2, 3, 3), filters=twice, **V3)
for version, driver in ((2, "zarr"), (3, "zarr3")):
    folder = tempfile.mkdtemp()
    metadata = {"dtype": "bfloat16", "chunks": [2, 3]} if version == 2 else {"data_type": "bfloat16"}
    metadata |= {"shape": [5, 3]}
    written = tensorstore.open({"driver": driver, "kvstore": {"driver": "file", "path": folder}, "metadata": metadata}, create=True).result()
    data = (np.arange(15).reshape(5, 3) / 7).astype(tensorstore.bfloat16.numpy_dtype)
    written[...].write(data).result()
    keep(f"v{version} bfloat16 of TensorStore", folder, {"data": data.view("u2")})
    stores[-1]["columns"]["data"]["dtype"] = "bf16"
    shutil.rmtree(folder)

versions = {"zarr": zarr.__version__, "numcodecs": numcodecs.__version__, "numpy": np.__version__, "xarray": xarray.__version__}
lines = ",\n".join(json.dumps(one) for one in stores)
(HERE / "stores.json").write_text(f'{{"versions": {json.dumps(versions)}, "stores": [\n{lines}\n]}}\n')
print(len(stores), "stores", (HERE / "stores.json").stat().st_size, "bytes")
