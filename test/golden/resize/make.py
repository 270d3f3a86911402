"""Golden results of torchvision v2's resize and normalize, for packages/pixels/test/transform/resize.test.ts.

    python3 make.py        # writes cases.json and bytes.bin beside itself

bytes.bin holds everything one after the other: pictures as raw bytes, rows top to bottom, channels interleaved; and,
for normalize, what becomes of the bytes 0 … 255 in each of three channels, in the dtype's own bytes.
"""
import json
import pathlib
import platform

import numpy as np
import torch
import torchvision
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

HERE = pathlib.Path(__file__).parent
FILTER = {
    "nearest": InterpolationMode.NEAREST,
    "bilinear": InterpolationMode.BILINEAR,
    "bicubic": InterpolationMode.BICUBIC,
}
stored = bytearray()


def save(array):
    at = len(stored)
    stored.extend(np.ascontiguousarray(array).tobytes())
    return at


def picture(height, width, channels, seed):
    """Waves, hard edges, black and white corners and some noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        plane = 128 + 90 * np.sin(x / (3 + c)) * np.cos(y / (5 - c)) + rng.normal(0, 25, (height, width))
        plane[: height // 4, : width // 4] = 0
        plane[height // 2 :, width // 2 : width // 2 + 4] = 255
        planes.append(plane)
    return np.clip(np.stack(planes, 2), 0, 255).astype(np.uint8)


INPUTS = {
    "rgb": picture(37, 45, 3, 1),
    "grey": picture(45, 37, 1, 2),
    "point": picture(1, 1, 3, 3),
    "line": picture(2, 150, 3, 4),
}
SIZES = {
    "rgb": [(20, 31), (61, 83), (37, 90), (74, 45), (5, 3), (1, 1), (38, 44)],
    "grey": [(21, 17), (64, 50)],
    "point": [(4, 7)],
    "line": [(5, 17), (1, 151)],
}
inputs = {}
cases = []
for name, pixels in INPUTS.items():
    height, width, channels = pixels.shape
    inputs[name] = {"at": save(pixels), "width": width, "height": height, "channels": channels}
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)
    for out_height, out_width in SIZES[name]:
        for key, mode in FILTER.items():
            for antialias in (True, False) if key != "nearest" else (True,):
                out = F.resize(tensor, [out_height, out_width], interpolation=mode, antialias=antialias)
                at = save(out.permute(1, 2, 0).numpy())
                size = {"width": out_width, "height": out_height}
                cases.append({"input": name, **size, "filter": key, "antialias": antialias, "at": at})

STATISTICS = {
    "none": None,
    "imagenet": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    "clip": ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
    "half": ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
}
ramp = torch.arange(256, dtype=torch.uint8).reshape(1, 1, 256).expand(3, 1, 256)
values = []
for name, statistics in STATISTICS.items():
    for dtype, kind in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16), ("f64", torch.float64)):
        wide = torch.float64 if kind == torch.float64 else torch.float32
        scaled = F.to_dtype(ramp, wide, scale=True)
        out = scaled if statistics is None else F.normalize(scaled, *statistics)
        out = out.to(kind)
        at = save(out.view(torch.uint16).numpy() if kind == torch.bfloat16 else out.numpy())
        mean, std = statistics or (None, None)
        values.append({"name": name, "dtype": dtype, "mean": mean, "std": std, "at": at})

(HERE / "bytes.bin").write_bytes(stored)
made = {"torch": torch.__version__, "torchvision": torchvision.__version__, "machine": platform.machine()}
text = json.dumps({"made": made, "inputs": inputs, "cases": cases, "values": values}, indent=1)
(HERE / "cases.json").write_text(text + "\n")
