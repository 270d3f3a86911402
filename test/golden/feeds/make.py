"""Writes the same small pictures, labels and texts as Parquet, TFRecord, HDF5 and NPZ: `python make.py`. Versions: pillow 12.2.0,
pyarrow 26.0.1, tfrecord 1.14.6, h5py 3.16.0, numpy 2.4.6."""

import io
import struct
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from tfrecord.writer import TFRecordWriter

HERE = Path(__file__).parent
ROWS = 12


def pixels(row, width, height):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 5 + row * 17, y * 7, (x * y) % 251 + row], -1).astype(np.uint8)


def jpeg(row):
    out = io.BytesIO()
    Image.fromarray(pixels(row, 24 + 2 * row, 50 - row)).save(out, "JPEG", quality=60)
    return out.getvalue()


pictures = [jpeg(row) for row in range(ROWS)]
texts = [f"text of {row} äß" for row in range(ROWS)]
image = pa.array(
    [{"bytes": data, "path": f"{row}.jpg"} for row, data in enumerate(pictures)],
    pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
)
table = pa.table({"image": image, "label": pa.array(range(ROWS)), "text": pa.array(texts)})
pq.write_table(table, HERE / "pictures.parquet", row_group_size=5, compression="snappy")


def frame(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + TFRecordWriter.masked_crc(length) + record + TFRecordWriter.masked_crc(record)


example = TFRecordWriter.serialize_tf_example
records = [
    example({"image": (data, "byte"), "label": (row, "int"), "text": (texts[row].encode(), "byte")})
    for row, data in enumerate(pictures)
]
(HERE / "pictures.tfrecord").write_bytes(b"".join(map(frame, records)))

with h5py.File(HERE / "pictures.h5", "w", libver="latest") as file:
    data = file.create_dataset("image", (ROWS, 40, 36, 3), np.uint8, chunks=(4, 40, 36, 3), compression="gzip")
    for row in range(ROWS):
        data[row] = pixels(row, 36, 40)
    file["label"] = np.arange(ROWS)
    file.create_dataset("text", data=texts, dtype=h5py.string_dtype())

np.savez_compressed(
    HERE / "pictures.npz",
    image=np.stack([pixels(row, 36, 40) for row in range(ROWS)]),
    label=np.arange(ROWS),
)
