"""Writes the golden folders of LitData with its own writer, and what its serializers read back, as JSON: `python make.py`.
Versions: litdata 0.2.76, torch 2.15.0, numpy 2.4.6, zstd."""

import base64
import io
import json
import shutil
import struct
from pathlib import Path

import numpy as np
import torch
from litdata.streaming.item_loader import TokensLoader
from litdata.streaming.writer import BinaryWriter
from PIL import Image

HERE = Path(__file__).parent
expected = {}


def told(value):
    """A value in the form that the test compares."""
    if isinstance(value, (bool, int)):
        return {"number": str(int(value))}
    if isinstance(value, float):
        return {"number": repr(value)}
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            data = value.view(torch.uint16).numpy()
            return {**told(data), "dtype": "bfloat16"}
        value = value.numpy()
    if isinstance(value, Image.Image):
        value = np.asarray(value)
    return {
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        "data": base64.b64encode(value.tobytes()).decode(),
    }


def flat(value, path=()):
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, (list, tuple))
        else None
    )
    if items is None:
        return {".".join(map(str, path)) or "data": told(value)}
    return {
        name: leaf
        for key, inner in items
        for name, leaf in flat(inner, (*path, key)).items()
    }


def write(name, samples, rows=None, **options):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    writer = BinaryWriter(str(folder), **{"chunk_size": 3, **options})
    for i, sample in enumerate(samples):
        writer[i] = sample
    writer.done()
    writer.merge()
    for worker in folder.glob("*.index.json"):
        worker.unlink()
    expected[name] = [flat(sample) for sample in samples] if rows is None else rows


def jpeg(i):
    out = io.BytesIO()
    Image.fromarray(
        np.random.default_rng(i).integers(0, 255, (7, 9, 3), np.uint8)
    ).save(out, "JPEG")
    return out.getvalue()


TORCH = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
]
NUMPY = [
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
]
write(
    "tree",
    [
        {
            "x": (-1) ** i * 2 ** (9 * i),
            "f": i / 3,
            "yes": i % 2 == 0,
            "text": f"größe 😀 {i}" if i else "",
            "blob": bytes(range(3 * i)),
            "vector": torch.arange(i + 1, dtype=torch.int32),
            "meta": {
                "numbers": np.arange(i + 2, dtype=np.uint16),
                "pair": [i, torch.full((2, 1 + i), i / 7)],
            },
            "picture": Image.fromarray(np.full((2, 3 + i, 3), i, np.uint8)),
        }
        for i in range(7)
    ],
)
for dtypes, name, make in (
    (TORCH, "torch", lambda dtype: torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)),
    (NUMPY, "numpy", lambda dtype: np.array([[0, 1, 2], [3, 4, 5]], dtype)),
):
    write(
        name,
        [{str(i): make(dtype) for i, dtype in enumerate(dtypes)} for _ in range(2)],
    )
write("list", [[i, b"b" * i, torch.ones(2, 2) * i] for i in range(4)])
write("one", [jpeg(i) for i in range(4)])
tokens = [torch.arange(7 * i, 7 * i + 3 + i) for i in range(8)]
write(
    "tokens",
    tokens,
    [{"tokens": told(t)} for t in tokens],
    chunk_size=20,
    item_loader=TokensLoader(),
)
narrow = [np.arange(5 + i, dtype=np.uint16) for i in range(6)]
write(
    "tokens-u16",
    narrow,
    [{"tokens": told(t)} for t in narrow],
    chunk_size=20,
    item_loader=TokensLoader(),
)
mixed = [
    {"x": i, "v": torch.arange(i % 5 + 1) * i, "b": bytes(i % 7)} for i in range(20)
]
write("zstd", mixed, chunk_size=7, compression="zstd", compression_level="chunk")
write(
    "frames",
    mixed,
    chunk_size=9,
    compression="zstd",
    compression_level="batch",
    compression_batch_size=4,
)
write("samples", mixed[:2], compression="zstd", compression_level="sample")
# Dicts of plain values are kept as Arrow; a null is no column of its row.
plain = [
    {
        "x": (-1) ** i * 2 ** (8 * i),
        "f": i / 3,
        "yes": i % 2 == 0,
        "s": f"größe 😀 {i}" if i else "",
        "b": bytes(range(i)),
    }
    for i in range(7)
]
write("arrow", plain)
write("arrow-zstd", plain, compression="zstd")
nested = [
    {
        "id": i,
        "meta": {"lang": "en", "sizes": list(range(i % 3))},
        "text": None if i == 2 else f"row {i}",
    }
    for i in range(5)
]
write(
    "arrow-nested",
    nested,
    [
        {
            "id": told(row["id"]),
            "meta.lang": told(row["meta"]["lang"]),
            "meta.sizes": told(np.array(row["meta"]["sizes"], np.int64)),
            **({} if row["text"] is None else {"text": told(row["text"])}),
        }
        for row in nested
    ],
)
write("pickle", [{"x": 1, "p": {1, 2}}], [])
# As versions before 0.2.57 wrote tensors: with a little-endian head.
write("little", [{"t": torch.ones(2, 3)}])
chunk = HERE / "little" / "chunk-0-0.bin"
data = bytearray(chunk.read_bytes())
at = data.index(struct.pack(">4I", 1, 2, 2, 3))
data[at : at + 16] = struct.pack("<4I", 1, 2, 2, 3)
chunk.write_bytes(data)
for name in ("samples", "pickle"):
    del expected[name]
(HERE / "expected.json").write_text(json.dumps(expected) + "\n")
