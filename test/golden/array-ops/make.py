"""What NumPy makes of arrays by crops, flips, turns, borders and normalising. Run: python make.py"""

import base64
import json
from pathlib import Path

import numpy as np

rng = np.random.default_rng(5)
cases = []


def data(array):
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def case(name, array, apply, result):
    cases.append({"name": name, "array": data(array), "apply": apply, "result": data(np.ascontiguousarray(result))})


x = rng.integers(0, 1000, (3, 5, 6, 7)).astype("<i4")
f = rng.normal(size=(3, 8, 9)).astype("<f4")
d = rng.normal(size=(4, 5)).astype("<f8")
b = rng.integers(0, 255, (4, 5)).astype("|u1")
case("centre crop of the last axes", x, [{"crop": [3, 4, 2]}], x[:, 1:4, 1:5, 2:4])
case("crop at a place", x, [{"crop": {"size": [2, 3], "at": [4, 0]}}], x[:, :, 4:6, 0:3])
case("flips", x, [{"flip": {"axes": [0, -1], "p": 1}}], x[::-1, :, :, ::-1])
for times in range(4):
    turn = [{"rotate90": {"axes": [1, -1], "times": times}}]
    case(f"turned {times} times", x, turn, np.rot90(x, times, (1, 3)))
    other = [{"rotate90": {"axes": [-1, 1], "times": times}}]
    case(f"turned {times} times, the other way", x, other, np.rot90(x, times, (3, 1)))
case("pad", f, [{"pad": {"padding": [2, [0, 3]], "value": -1.5}}], np.pad(f, ((0, 0), (2, 2), (0, 3)), constant_values=-1.5))
case("pad to", b, [{"pad": {"to": [7, 3], "value": 9}}], np.pad(b, ((1, 2), (0, 0)), constant_values=9))
many = [{"pad": [[1, 0], 2]}, {"rotate90": {"times": 1}}, {"crop": [5, 6]}, {"flip": {"axes": [-2], "p": 1}}]
padded = np.rot90(np.pad(f, ((0, 0), (1, 0), (2, 2))), 1, (-2, -1))
case("several, one after the other", f, many, padded[:, 4:9, 1:7][:, ::-1])
case("normalize", f, [{"normalize": {"mean": 0.3, "std": 1.7}}], (f - np.float32(0.3)) / np.float32(1.7))
mean, std = np.array([0.1, -0.2, 3], "f4"), np.array([1.5, 0.3, 2], "f4")
each = [{"crop": [4, 4]}, {"normalize": {"mean": [0.1, -0.2, 3], "std": [1.5, 0.3, 2]}}]
case("normalize each channel", f, each, (f[:, 2:6, 2:6] - mean[:, None, None]) / std[:, None, None])
last = [{"normalize": {"mean": [1, 2, 3, 4, 5], "std": 0.7, "axis": -1}}]
case("normalize along the last axis, f64", d, last, (d - np.arange(1, 6)) / 0.7)
case("bytes, big-endian", x.astype(">i2"), [{"crop": [1, 3]}, {"flip": {"axes": [1], "p": 1}}], x[:, ::-1, 2:3, 2:5].astype("<i2"))

out = {"versions": {"numpy": np.__version__}, "cases": cases}
(Path(__file__).parent / "cases.json").write_text(json.dumps(out, indent=1) + "\n")
