"""Writes the golden folders of MDS with mosaicml-streaming's own writer, and what its reader finds in them, as JSON:
`python make.py`. Versions: mosaicml-streaming 0.13.0, numpy 2.4.6, pillow. Only its format is imported: the rest of the
package needs clouds and tokenizers."""

import base64
import importlib.util
import io
import json
import shutil
import sys
import types
from decimal import Decimal
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent


class Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Cloud


class Cloud:
    """Stands in for what would upload shards."""

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

from streaming.base.format.mds.encodings import mds_decode  # noqa: E402
from streaming.base.format.mds.reader import MDSReader  # noqa: E402
from streaming.base.format.mds.writer import MDSWriter  # noqa: E402

expected = {}


def told(value):
    """A value in the form that the test compares."""
    if isinstance(value, bool):
        return {"number": str(int(value))}
    if isinstance(value, (int, np.integer)):
        return {"number": str(int(value))}
    if isinstance(value, (float, np.floating)):
        return {"number": repr(float(value))}
    if isinstance(value, np.ndarray):
        return {
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "data": base64.b64encode(value.tobytes()).decode(),
        }
    if isinstance(value, Image.Image):
        return told(np.asarray(value))
    raise TypeError(type(value))


def write(name, columns, samples, **options):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    with MDSWriter(out=str(folder), columns=columns, progress_bar=False, **options) as writer:
        for sample in samples:
            writer.write(sample)
    index = json.loads((folder / "index.json").read_text())
    rows = []
    for shard in index["shards"]:
        reader = MDSReader.from_json(str(folder), "", shard)
        raw = (folder / shard["raw_data"]["basename"]).exists()
        for i in range(shard["samples"]):
            rows.append(row(reader, i) if raw else None)
    expected[name] = rows


def row(reader, i):
    data = reader.get_sample_data(i)
    at, sizes = 0, []
    for size in reader.column_sizes:
        if size:
            sizes.append(size)
        else:
            sizes.append(int(np.frombuffer(data[at : at + 4], np.uint32)[0]))
            at += 4
    found = {}
    for name, encoding, size in zip(reader.column_names, reader.column_encodings, sizes):
        value = data[at : at + size]
        at += size
        if encoding in ("bytes", "str", "jpeg", "png", "json", "str_int", "str_float", "str_decimal"):
            found[name] = {"bytes": base64.b64encode(value).decode()}
        elif encoding.startswith("list[") or encoding.startswith("jpeg"):
            continue
        elif encoding != "pkl":
            found[name] = told(mds_decode(encoding, value))
    return found


def picture(mode, size, seed):
    channels = len(Image.new(mode, (1, 1)).getbands())
    data = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], channels), np.uint8)
    return Image.fromarray(data[..., 0] if channels == 1 else data, mode)


def file_of(image, kind):
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


NUMBERS = [
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
]


def number(name, i):
    info = np.finfo(name) if name.startswith("float") else np.iinfo(name)
    return getattr(np, name)([info.min, info.max, 0, 1, 3.25 if name.startswith("float") else 77][i % 5])


write(
    "all",
    {
        "blob": "bytes",
        "text": "str",
        "int": "int",
        "json": "json",
        "str_int": "str_int",
        "str_float": "str_float",
        "str_decimal": "str_decimal",
        "jpeg": "jpeg",
        "png": "png",
        "pil": "pil",
        "grey": "pil",
        "pickle": "pkl",
        "array": "ndarray",
        "array_i16": "ndarray:int16",
        "array_f32": "ndarray:float32:2,3",
        "pictures": "list[png]",
        "jpegs": "jpeg_array",
        **{f"n_{name}": name for name in NUMBERS},
    },
    [
        {
            "blob": bytes(range(i * 7)),
            "text": f"größe 😀 {i}" if i else "",
            "int": (-1) ** i * 2 ** (i * 10),
            "json": {"a": [i, None, "é"]},
            "str_int": -(10 ** (4 * i)),
            "str_float": 1.5**i,
            "str_decimal": Decimal("1.50") * i,
            "jpeg": picture("RGB", (9, 7), i),
            "png": picture("L", (5, 4), i),
            "pil": picture("RGB", (3 + i, 2), i),
            "grey": picture("L", (2, 1 + i), i),
            "pickle": {"never": "read"},
            "array": np.arange(2 * (i + 1) * 3).reshape(2, i + 1, 3).astype(NUMBERS[i % len(NUMBERS)]),
            "array_i16": np.arange(300 * (i + 1), dtype=np.int16)[::-1].copy(),
            "array_f32": np.full((2, 3), i / 3, np.float32),
            "pictures": [picture("L", (2, 2), i + k) for k in range(1 + i % 3)],
            "jpegs": [file_of(picture("RGB", (8, 8), k), "JPEG") for k in range(1 + i % 2)],
            **{f"n_{name}": number(name, i) for name in NUMBERS},
        }
        for i in range(7)
    ],
    size_limit=9000,
    hashes=["sha1", "xxh64"],
)
small = [{"x": np.arange(i % 4 + 1, dtype=np.int32), "y": i, "s": "s" * (i % 5)} for i in range(40)]
for codec in ("zstd", "gz", "snappy", "br"):
    columns = {"x": "ndarray:int32", "y": "int", "s": "str"}
    write(codec, columns, small, size_limit=600, compression=codec, hashes=["sha256"])
write("plain", {"x": "ndarray:int32", "y": "int", "s": "str"}, small, size_limit=600)
write("bz2", {"y": "int"}, small[:1] and [{"y": 1}], compression="bz2")
write("one", {"x": "float64"}, [{"x": 0.1}])
for codec in ("zstd", "gz", "snappy", "br"):
    expected[codec] = expected["plain"]
del expected["bz2"]
(HERE / "expected.json").write_text(json.dumps(expected) + "\n")
