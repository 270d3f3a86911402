"""Rows of a picture field made by hand, as a maker writes them, and what PyTorch's CPU makes of the same boxes."""

from __future__ import annotations

import base64
import math
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np
import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms.v2 import functional

SIZE = 224
WORDS = 32 + 16
JPEG, PIXELS = 1, 3
#: What a row has room for besides its parameters: the largest file, or a decoded picture of 500 × 375.
ROOM = 500 * 375 * 3


class Box(NamedTuple):
    """Where a picture is cut out, and whether it is mirrored."""

    x: int
    y: int
    width: int
    height: int
    flip: bool


def size_of(data: np.ndarray) -> Tuple[int, int]:
    """Width and height, from the frame header."""
    at = 2
    while at + 9 < len(data):
        marker, length = int(data[at + 1]), int(data[at + 2]) << 8 | int(data[at + 3])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int(data[at + 7]) << 8 | int(data[at + 8]), int(data[at + 5]) << 8 | int(data[at + 6])
        at += 2 + length
    raise ValueError("no frame header")


def some_box(width: int, height: int, random: np.random.Generator) -> Box:
    """As RandomResizedCrop and RandomHorizontalFlip choose, more or less."""
    w = max(1, min(width, int(width * random.uniform(0.3, 1))))
    h = max(1, min(height, int(height * random.uniform(0.3, 1))))
    x, y = random.integers(0, width - w + 1), random.integers(0, height - h + 1)
    return Box(int(x), int(y), w, h, bool(random.integers(2)))


def padded(size: int) -> int:
    """Rounded up to 16 bytes."""
    return (size + 15) // 16 * 16


def table_bytes(sizes: List[int]) -> int:
    """Tables of ``place`` for boxes of these sizes along x and y: first, count and weights, 16 bytes aligned."""
    total = 0
    for size in sizes:
        if size != SIZE:
            taps = min(size, 2 * math.ceil(max(1.0, size / SIZE)) + 1)
            total += 2 * padded(4 * SIZE) + padded(2 * SIZE * taps)
    return total


def write(row: np.ndarray, form: int, data: np.ndarray, width: int, height: int, box: Box) -> None:
    """One row of the slot: header, one op `place`, bytes."""
    words = np.zeros(WORDS, np.int32)
    words[:12] = (
        form, len(data), width, height, 1, 1, SIZE * SIZE * 3, SIZE, SIZE, 0,
        box.height * SIZE * 3, table_bytes([box.width, box.height]),
    )  # fmt: skip
    place = (1, box.x, box.y, box.width, box.height, SIZE, SIZE, 0, 0, SIZE, SIZE, 1, 1, int(box.flip))
    words[32 : 32 + len(place)] = place
    row[: WORDS * 4] = words.view(np.uint8)
    row[WORDS * 4 : WORDS * 4 + len(data)] = data


def slot_of(files: List[np.ndarray], boxes: List[Box], forms: List[int]) -> np.ndarray:
    """A slot: uint8[count, row bytes]."""
    slot = np.zeros((len(files), WORDS * 4 + ROOM), np.uint8)
    for row, data, box, form in zip(slot, files, boxes, forms):
        write(row, form, data, *size_of(data), box)
    return slot


def field(dtype: str, layout: str = "chw", mean: float = 0.0) -> Dict[str, Any]:
    """What the engine would tell of the field: values are byte / 255 - mean, or the bytes themselves."""
    values = np.arange(256, dtype=np.float32)
    table = values.astype(np.uint8) if dtype == "u8" else (values / 255 - mean).astype(np.float32)
    shape = [3, SIZE, SIZE] if layout == "chw" else [SIZE, SIZE, 3]
    return {
        "kind": "picture", "words": WORDS, "dtype": dtype, "layout": layout, "width": SIZE, "height": SIZE,
        "shape": shape, "lookup": base64.b64encode(np.tile(table, 3).tobytes()).decode(), "mixes": 0,
    }  # fmt: skip


def decoded(data: np.ndarray) -> torch.Tensor:
    """By libjpeg-turbo: uint8[3, height, width]."""
    return decode_jpeg(torch.from_numpy(data.copy()), ImageReadMode.RGB)


def expected(picture: torch.Tensor, box: Box) -> torch.Tensor:
    """The finished row, on the CPU: uint8[3, SIZE, SIZE]."""
    part = picture[:, box.y : box.y + box.height, box.x : box.x + box.width]
    made = functional.resize(part, [SIZE, SIZE], antialias=True)
    return made.flip(-1) if box.flip else made
