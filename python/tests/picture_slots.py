"""Slots with pictures as makers write them for the device stage, and what should become of them."""

from __future__ import annotations

import base64

import numpy as np
from fake_cuda import fake_jpeg, fake_pixels, shown

from millrace._generated.parameter_words import Form, Word

WORDS, WIDTH, HEIGHT = 48, 20, 16
ROOM = 6000


def table(dtype):
    return (np.arange(768).reshape(3, 256) / (1 if dtype == np.uint8 else 3) % 256).astype(dtype)


def field(dtype="f32", layout="chw", mixes=0):
    numbers = {"f32": np.float32, "u8": np.uint8}[dtype]
    shape = [3, HEIGHT, WIDTH] if layout == "chw" else [HEIGHT, WIDTH, 3]
    return {
        "kind": "picture", "words": WORDS, "dtype": dtype, "layout": layout, "width": WIDTH, "height": HEIGHT,
        "shape": shape, "lookup": base64.b64encode(table(numbers).tobytes()).decode(), "mixes": mixes,
    }  # fmt: skip


def header(form, size, width, height):
    row = np.zeros(WORDS, np.uint32)
    row[Word.SAMPLING] = (0x22, 0x11)[width % 2] if form == Form.JPEG else 0
    row[[Word.FORM, Word.BYTES, Word.STORED_WIDTH, Word.STORED_HEIGHT]] = form, size, width, height
    row[[Word.PICTURE_BYTES, Word.TABLE_BYTES]] = width * height * 3, 1077
    return row


class Slot:
    """Rows as a maker writes them, and what should become of them."""

    def __init__(self, count, room=ROOM):
        self.values = np.full((count, WORDS * 4 + room), 0xEE, np.uint8)
        self.pixels = [None] * count

    def fill(self, row, form, width=0, height=0, value=0, kind=b"b"):
        data = b""
        if form == Form.JPEG:
            data = fake_jpeg(width, height, value, kind)
        elif form == Form.PIXELS:
            data = fake_pixels(width, height, value).tobytes()
        self.values[row, : WORDS * 4] = header(form, len(data), width, height).view(np.uint8)
        self.values[row, WORDS * 4 : WORDS * 4 + len(data)] = np.frombuffer(data, np.uint8)
        self.pixels[row] = None if form == Form.NOTHING else (width, height, value)

    def expected(self, dtype=np.float32, hwc=False):
        empty = np.zeros((HEIGHT, WIDTH, 3) if hwc else (3, HEIGHT, WIDTH), dtype)
        return np.stack(
            [
                empty if one is None else shown(fake_pixels(*one), table(dtype), WIDTH, HEIGHT, hwc)
                for one in self.pixels
            ]
        )


def some_slot(chance, count=6):
    slot = Slot(count)
    for row in range(count):
        form = chance.choice([Form.NOTHING, Form.JPEG, Form.JPEG, Form.JPEG, Form.PIXELS])
        slot.fill(row, form, chance.randrange(1, 40), chance.randrange(1, 40), chance.randrange(200))
    return slot
