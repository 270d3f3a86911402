"""Documents for `millrace tokenize`: JSON lines, the same by zstd as a stream, and Parquet."""

import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
WORDS = ["wheel", "río", "水", "🌊", "grinds\n", '"so"', "don't", "\t", "12,345", "\\n", "\u0000", "ﬁ"]

texts = [f"{i} " + " ".join(WORDS[(i * k) % len(WORDS)] for k in range(i % 23)) for i in range(200)]
texts[9::50] = [""] * 4
lines = "".join(
    json.dumps({"id": i, "text": text}, ensure_ascii=i % 2 == 0) + "\n" for i, text in enumerate(texts)
).encode()
(HERE / "documents.jsonl").write_bytes(lines)
with open(HERE / "documents.jsonl.zst", "wb") as file:
    for part in (lines[:5000], lines[5000:]):  # two frames, which don't tell their sizes
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(part)
        file.write(sink.getvalue())
scores = [None if i % 7 == 0 else i / 3 for i in range(200)]
table = pa.table({"id": range(200), "content": texts, "score": scores})
pq.write_table(table, HERE / "documents.parquet", row_group_size=33)
