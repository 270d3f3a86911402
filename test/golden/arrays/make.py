"""Files with arrays as NumPy and safetensors write them, and what is in them as JSON. Run: python make.py"""

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

here = Path(__file__).parent
rng = np.random.default_rng(16)
expected = {"versions": {"numpy": np.__version__, "safetensors": safetensors.__version__}, "files": {}}


def plain(value):
    """Values for JSON: integers of 64 bits as text, since JavaScript's numbers don't hold them."""
    array = np.asarray(value)
    if array.dtype.kind in "mM":
        array = array.view("i8")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        return [str(n) for n in array.reshape(-1).tolist()]
    if array.dtype.kind in "SU":
        return [n.decode() if isinstance(n, bytes) else n for n in array.reshape(-1).tolist()]
    return array.astype("f8").reshape(-1).tolist()


def fields(name, array):
    if array.dtype.names is None:
        yield name, array
        return
    for field in array.dtype.names:
        yield from fields(f"{name}.{field}" if name else field, array[field])


def note(file, arrays):
    found = {}
    for name, array in arrays.items():
        for column, values in fields(name, np.asarray(array)):
            column = column or "data"
            found[column] = {"shape": list(values.shape), "values": plain(values)}
    expected["files"][file] = found


DTYPES = ["?", "u1", "i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">i4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8"]
for dtype in [*DTYPES, "<M8[ns]"]:
    array = rng.integers(0, 100, (3, 2, 5)).astype(dtype)
    name = f"{np.dtype(dtype).str.strip('<>|').replace('[', '').replace(']', '')}{'-big' if dtype[0] == '>' else ''}.npy"
    np.save(here / name, array)
    note(name, {"": array})

fortran = np.asfortranarray(rng.integers(0, 1000, (4, 3, 2)).astype("<i4"))
np.save(here / "fortran.npy", fortran)
note("fortran.npy", {"": fortran})
records = np.zeros(4, [("x", "<f4"), ("rgb", "u1", (3,)), ("in", [("a", ">i2"), ("b", "<f8")]), ("name", "S5"), ("größe", "<U3")])
records["x"] = rng.random(4)
records["rgb"] = rng.integers(0, 256, (4, 3))
records["in"]["a"] = [-1, 2, 3, 300]
records["in"]["b"] = rng.random(4)
records["name"] = [b"one", b"two", b"", b"fiver"]
records["größe"] = ["ä", "😀x", "", "abc"]
np.save(here / "records.npy", records)
note("records.npy", {"": records})
aligned = np.zeros((2, 2), np.dtype([("a", "u1"), ("b", "<f8")], align=True))
aligned["b"] = rng.random((2, 2))
np.save(here / "aligned.npy", aligned)
note("aligned.npy", {"": aligned})
np.save(here / "scalar.npy", np.float32(2.5))
note("scalar.npy", {"": np.float32(2.5)})
np.save(here / "empty.npy", np.zeros((0, 3), "f4"))
note("empty.npy", {"": np.zeros((0, 3), "f4")})
for version in [(2, 0), (3, 0)]:
    with open(here / f"version{version[0]}.npy", "wb") as out:
        np.lib.format.write_array(out, fortran, version)
    note(f"version{version[0]}.npy", {"": fortran})
np.save(here / "complex.npy", np.zeros(2, "c8"))
np.save(here / "objects.npy", np.array([{}, None], object), allow_pickle=True)

members = {
    "x": rng.integers(0, 200, (6, 4, 3)).astype("u1"),
    "y": np.arange(6) * 2**40,
    "f": np.asfortranarray(rng.random((6, 5)).astype("<f4")),
    "names": np.array(["a", "bb", "", "ccc", "é", "😀"]),
    "rec": records[[0, 1, 2, 3, 0, 1]],
    "classes": np.array([b"cat", b"dog"]),
    "seed": np.int64(7),
}
np.savez(here / "stored.npz", **members)
note("stored.npz", members)
np.savez_compressed(here / "deflated.npz", **members)
note("deflated.npz", members)
np.savez(here / "one-row.npz", x=members["x"][:1], y=members["y"][:1])
note("one-row.npz", {"x": members["x"][:1], "y": members["y"][:1]})


def npy_bytes(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


class Stream(io.RawIOBase):
    """A file that can't seek: zipfile then writes data descriptors."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


small = {"x": members["x"], "y": members["y"]}
stream = Stream(here / "streamed.npz")
with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
    for name, array in small.items():
        archive.writestr(f"{name}.npy", npy_bytes(array))
    archive.comment = b"a comment with PK\x05\x06 in it, and some more bytes behind that"
    archive.writestr("note.txt", "no array")
stream.file.close()
note("streamed.npz", small)
with zipfile.ZipFile(here / "zip64.npz", "w") as archive:
    for name, array in small.items():
        with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
            out.write(npy_bytes(array))
note("zip64.npz", small)

tensors = {
    "x": rng.random((5, 2, 3)).astype("<f4"),
    "half": rng.random((5, 2)).astype("<f2"),
    "label": np.arange(5, dtype="<i8"),
    "big": np.array([2**63, 1, 2, 3, 2**64 - 1], "<u8"),
    "flag": np.array([True, False, True, True, False]),
    "none": np.zeros((5, 0), "<f8"),
}
safetensors.numpy.save_file(tensors, here / "tensors.safetensors", {"about": "a test"})
note("tensors.safetensors", tensors)
raw = np.array([1.5, -2, 0.25], "<f4").view("<u4") >> 16
header = json.dumps({"b": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}, "q": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [6, 8]}}).encode()
(here / "bf16.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + raw.astype("<u2").tobytes() + b"\0\0")
note("bf16.safetensors", {"b": np.array([1.5, -2, 0.25], "f4")})

(here / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")
