"""Writes the golden files of TFRecord with the package `tfrecord` (its messages are Google's protobuf), and
what is in them, as JSON: `python make.py`. Versions: tfrecord 1.14.6, protobuf 7.36.2, crc32c."""

import base64
import json
import struct
from pathlib import Path

from tfrecord import example_pb2
from tfrecord.tools.tfrecord2idx import create_index
from tfrecord.writer import TFRecordWriter

HERE = Path(__file__).parent


def frame(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + TFRecordWriter.masked_crc(length) + record + TFRecordWriter.masked_crc(record)


def of_feature(feature):
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return {"bytes": [base64.b64encode(value).decode() for value in values]}
    if kind == "float_list":
        return {
            "f32": base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode(),
            "shape": [len(values)],
        }
    return {"i64": [str(value) for value in values], "shape": [len(values)]}


def stacked(features):
    parts = [of_feature(feature) for feature in features]
    if "bytes" in parts[0]:
        return {"bytes": [value for part in parts for value in part["bytes"]]}
    shape = [len(parts), parts[0]["shape"][0]]
    if "f32" in parts[0]:
        data = b"".join(base64.b64decode(part["f32"]) for part in parts)
        return {"f32": base64.b64encode(data).decode(), "shape": shape}
    return {"i64": [value for part in parts for value in part["i64"]], "shape": shape}


expected = {}


def write(name, records, parse):
    (HERE / name).write_bytes(b"".join(frame(record) for record in records))
    expected[name] = [
        {"record": base64.b64encode(record).decode(), "features": parse(record)} for record in records
    ]


def parse_example(record):
    features = example_pb2.Example.FromString(record).features.feature
    return {name: of_feature(feature) for name, feature in sorted(features.items())}


def parse_sequence(record):
    message = example_pb2.SequenceExample.FromString(record)
    context = {name: of_feature(feature) for name, feature in message.context.feature.items()}
    lists = {name: stacked(one.feature) for name, one in message.feature_lists.feature_list.items()}
    return dict(sorted({**context, **lists}.items()))


example = TFRecordWriter.serialize_tf_example
write(
    "plain.tfrecord",
    [
        example(
            {
                "image": (bytes(range(256)) * 3, "byte"),
                "label": (i, "int"),
                "name": (f"größe 😀 {i}".encode(), "byte"),
                "box": ([0.5 * i, 1.25, -3.5e38 / 2, 1e-40], "float"),
                "tokens": (list(range(i)), "int"),
                "wide": ([-1, 2**63 - 1, -(2**63), 2**53 + 1, 127, 128, 16384, -128], "int"),
                "tags": ([b"a", b"", "é".encode()][: i % 4], "byte"),
                "none": ([], "float"),
                **({"odd": (7, "int")} if i % 2 else {}),
            }
        )
        for i in range(7)
    ],
    parse_example,
)
write("one.tfrecord", [example({"x": (1.5, "float")})], parse_example)
write(
    "sequence.tfrecord",
    [
        TFRecordWriter.serialize_tf_sequence_example(
            {"id": (i, "int"), "title": (b"t%d" % i, "byte")},
            {
                "frames": ([b"f%d" % k for k in range(i + 1)], "byte"),
                "xy": ([[k, k + 0.5] for k in range(i + 2)], "float"),
                "steps": ([[k, -k, 300 * k] for k in range(i + 1)], "int"),
            },
        )
        for i in range(4)
    ],
    parse_sequence,
)


def field(number, kind, data):
    return bytes([number << 3 | kind]) + data


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def message(number, data):
    return field(number, 2, varint(len(data)) + data)


def unpacked(name, feature):
    return message(1, message(1, name) + message(2, feature))


# As old and hand-made writers do it: values one by one, packed ones in two parts, the name after the value,
# unknown fields.
odd = b"".join(
    [
        unpacked(
            b"floats", message(2, b"".join(field(1, 5, struct.pack("<f", x)) for x in (1.5, -2.25, 0.0)))
        ),
        unpacked(
            b"ints", message(3, field(1, 0, b"\x05") + field(1, 0, b"\xac\x02") + message(1, b"\x01\x02"))
        ),
        unpacked(b"two", message(2, message(1, struct.pack("<f", 1)) + message(1, struct.pack("<2f", 2, 3)))),
        message(1, message(2, message(3, message(1, b"\x09"))) + message(1, b"late")),
        message(1, message(1, b"empty") + message(2, b"")),
        unpacked(b"again", message(3, message(1, b"\x01"))),
        unpacked(b"again", message(3, message(1, b"\x02"))),
        field(9, 0, b"\x01"),
    ]
)
write("unpacked.tfrecord", [message(1, odd) + field(15, 1, bytes(8))], parse_example)
write("raw.tfrecord", [b"", b"\xff\xff\xff", b"no message"], lambda record: None)
write("empty.tfrecord", [], parse_example)
create_index(str(HERE / "plain.tfrecord"), str(HERE / "plain.idx"))
(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
