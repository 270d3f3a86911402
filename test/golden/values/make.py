"""Casts edge values of every element type to every other, and arrays of odd strides and byte orders, with NumPy.

    python3 test/golden/values/make.py        (needs numpy and ml_dtypes)

casts.json: for each pair of types, `from` and `to` the elements before and after, little-endian, in hex, and `fits`, one
character an element: 0 where an integer type does not hold the value, so that it has to be refused (`to` has zeros
there). Floats to integers are left out: they are refused whole. bf16 is that of ml_dtypes.

strides.json: arrays as they lie in memory (`data`, from the least address on), and their elements in C order, cast.
"""

import json
import pathlib

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
BF16 = ml_dtypes.bfloat16
INTS = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8"}
FLOATS = {"f16": "f2", "bf16": BF16, "f32": "f4", "f64": "f8"}
TYPES = {**INTS, **FLOATS, "bool": "?"}
np.seterr(all="ignore")


def integers() -> list[int]:
    found = {0, 1, 2, 3, 100, 127, 128, 255, 256}
    for bits in [*range(7, 18), *range(23, 26), *range(30, 34), *range(52, 56), *range(61, 65)]:
        found |= {2**bits + d for d in (-2, -1, 0, 1, 2, 3)}
    # Ties of f16, bf16, f32 and f64, and what lies just beside them; the last is rounded twice by way of a float64.
    for bits, kept in [(15, 11), (31, 8), (31, 24), (62, 8), (62, 24), (62, 53), (63, 24), (63, 53)]:
        half = 2 ** (bits - kept)
        found |= {2**bits + half * k + d for k in (1, 3) for d in (-1, 0, 1)}
    return sorted(found | {-n for n in found})


def edges(name: str) -> np.ndarray:
    kind = np.dtype(TYPES[name])
    if name == "bool":
        return np.array([False, True])
    if name in INTS:
        about = np.iinfo(kind)
        return np.array([n for n in integers() if about.min <= n <= about.max], kind)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[kind.itemsize]
    if kind.itemsize == 2:
        every = np.arange(0, 65536, 61, dtype=bits)
        special = np.array(
            [0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7E55, 0x7F80, 0xFF80, 0x7FC0, 0xFFC5], bits
        )
        values = np.concatenate([every, special]).view(kind)
    else:
        numbers = [0.0, -0.0, 1, -1, 0.1, 65504, 65519.99, 65520, 65536, 3.4e38, -3.5e38, 1e-45, 7e-46, 1e-40]
        numbers += [
            2.0**-14,
            2.0**-24,
            2.0**-25,
            2.0**-26,
            3 * 2.0**-26,
            2.0**-133,
            2.0**-150,
            5e-324,
            1.7e308,
        ]
        numbers += [
            n * s for n in (1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-8, 1 + 3 * 2.0**-8) for s in (1, -1)
        ]
        numbers += [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-52]
        numbers += [
            2.0**53 + 2,
            2.0**63,
            2.0**64,
            np.inf,
            -np.inf,
            2.0**-14 * (1 - 2.0**-12),
            1023.5 * 2.0**-24,
        ]
        random = np.random.default_rng(2).integers(0, 2**63, 300, dtype=np.uint64) * 2 + 1
        quiet = {4: [0x7FC00000, 0xFFC00000, 0x7FD23456], 8: [0x7FF8 << 48, 0xFFF8 << 48, 0x7FF9234567800000]}
        values = np.concatenate(
            [
                np.array(numbers).astype(kind).view(bits),
                (random >> np.uint64(64 - 8 * kind.itemsize)).astype(bits),
                np.array(quiet[kind.itemsize], bits),
            ]
        ).view(kind)
    # The bits of signalling NaNs differ from processor to processor.
    fraction = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[name]
    signalling = np.isnan(values) & ((values.view(bits) >> bits(fraction - 1)) & bits(1) == 0)
    return values[~signalling]


def cast(values: np.ndarray, name: str) -> np.ndarray:
    return values.astype(TYPES[name])


def hexed(values: np.ndarray) -> str:
    return np.ascontiguousarray(values).tobytes().hex()


casts = []
for source in TYPES:
    values = edges(source)
    for target in TYPES:
        if target == "u64" or (source in FLOATS and target in INTS):
            continue
        fits = np.ones(len(values), bool)
        if target in INTS and source != "bool":
            about = np.iinfo(TYPES[target])
            fits = np.array([about.min <= int(v) <= about.max for v in values])
        after = np.where(fits, cast(values, target), np.zeros((), TYPES[target]))
        flags = "".join("01"[int(f)] for f in fits)
        casts.append(
            {"source": source, "target": target, "from": hexed(values), "to": hexed(after), "fits": flags}
        )
(HERE / "casts.json").write_text("[\n" + ",\n".join(json.dumps(c) for c in casts) + "\n]\n")


def views(base: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "plain": base,
        "reversed": base[::-1, :, ::-1],
        "transposed": base.T,
        "axes": base.transpose(1, 0, 2),
        "steps": base[::2, 1:, ::3],
        "back": base[::-2, ::-1, 1::2],
        "broadcast": np.broadcast_to(base[:, :1, :], base.shape),
        "all one": np.broadcast_to(base[1, 2, 3:4], (3, 4)),
        "column": base[:, 1, 2],
        "row": base[1, 1, ::-1],
        "fortran": np.asfortranarray(base),
        "empty": base[:, 2:2],
        "single": base[1, 1, 1:2].reshape(()),
    }


strides = []
PAIRS = [
    "u8 u8",
    "u8 f32",
    "i16 i16",
    "u16 i64",
    "u32 f64",
    "i64 i64",
    "u64 i64",
    "f16 f32",
    "f32 f32",
    "f64 f16",
    "f32 bf16",
]
for pair in PAIRS:
    source, target = pair.split(" ")
    for order in "<>" if np.dtype(TYPES[source]).itemsize > 1 else "<":
        kind = np.dtype(TYPES[source]).newbyteorder(order)
        base = (np.arange(3 * 5 * 7).reshape(3, 5, 7) * 3 + 1).astype(kind)
        for name, view in views(base).items():
            least = view.__array_interface__["data"][0] + sum(
                min(0, s) * (n - 1) for s, n in zip(view.strides, view.shape) if n
            )
            most = view.__array_interface__["data"][0] + sum(
                max(0, s) * (n - 1) for s, n in zip(view.strides, view.shape) if n
            )
            span = most - least + kind.itemsize if view.size else 0
            memory = (np.ctypeslib.ctypes.c_char * span).from_address(least).raw if span else b""
            after = cast(np.ascontiguousarray(view).astype(kind.newbyteorder("<")), target)
            strides.append(
                {
                    "name": f"{name}, {order}{pair}",
                    "source": source,
                    "target": target,
                    "bigEndian": order == ">",
                    "shape": list(view.shape),
                    "strides": list(view.strides),
                    "data": memory.hex(),
                    "to": hexed(after),
                }
            )
(HERE / "strides.json").write_text("[\n" + ",\n".join(json.dumps(s) for s in strides) + "\n]\n")
print(len(casts), "casts,", len(strides), "strided arrays")
