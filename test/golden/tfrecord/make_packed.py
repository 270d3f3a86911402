"""Writes TFRecord files that are compressed as a whole, with TensorFlow 2.21's own writer, and reads them back with its
reader: `python make_packed.py`, after make.py. `packed-*` has the records of plain.tfrecord, `many-*` 250 of 20 kB (`many` below)."""

from pathlib import Path

import tensorflow as tf

HERE = Path(__file__).parent


def many(i: int) -> bytes:
    """500 numbers, twenty times."""
    return b"".join(b"%d," % ((i * 500 + k) * 40503 % 65521 % 97) for k in range(500)) * 20


records = {
    "packed": [record.numpy() for record in tf.data.TFRecordDataset(str(HERE / "plain.tfrecord"))],
    "many": [many(i) for i in range(250)],
}
for name, all_of_them in records.items():
    for kind in ("GZIP", "ZLIB"):
        path = str(HERE / f"{name}-{kind.lower()}.tfrecord")
        with tf.io.TFRecordWriter(path, kind) as writer:
            for record in all_of_them:
                writer.write(record)
        back = tf.data.TFRecordDataset(path, compression_type=kind)
        assert [record.numpy() for record in back] == all_of_them
