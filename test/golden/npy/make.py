"""Makes .npy files of every kind that can be read, and what NumPy finds in them.

    python3 test/golden/npy/make.py        (needs numpy)

arrays.json has them all: `file` in base64, `dtype` and `shape`, and `hex`, the elements in C order, little-endian.
"""

import base64
import io
import json
import pathlib

import numpy as np
from numpy.lib import format as npy

HERE = pathlib.Path(__file__).parent
NAMES = {"u1": "u8", "i1": "i8", "b1": "bool", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "i8": "i64"}
NAMES |= {"f2": "f16", "f4": "f32", "f8": "f64"}
SHAPES = [(), (1,), (5,), (2, 3), (2, 1, 3), (0,), (3, 0, 2), (2, 2, 2, 2)]

random = np.random.default_rng(1)
arrays = []
for number, (kind, dtype) in enumerate(NAMES.items()):
    for turn, shape in enumerate(SHAPES):
        order = "<>"[(number + turn) % 2] if kind[1] != "1" else "|"
        fortran = turn % 2 == 1
        raw = random.integers(0, 256, (*shape, np.dtype(kind).itemsize), dtype=np.uint8)
        values = raw.view(kind)[..., 0] if kind != "b1" else raw[..., 0] % 2 == 1
        array = np.array(values.astype(order + kind), order="F" if fortran else "C")
        version = [(1, 0), (2, 0), (3, 0)][(number + turn) % 3]
        file = io.BytesIO()
        npy.write_array(file, array, version=version)
        file.seek(0)
        plain = np.ascontiguousarray(np.load(file)).astype(kind.replace("b1", "?"))
        text = base64.b64encode(file.getvalue()).decode()
        arrays.append({"dtype": dtype, "shape": list(shape), "hex": plain.tobytes().hex(), "file": text})
lines = ",\n".join(json.dumps(array) for array in arrays)
(HERE / "arrays.json").write_text(f"[\n{lines}\n]\n")
print(len(arrays), "arrays")
