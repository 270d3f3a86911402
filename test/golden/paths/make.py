"""Writes tables with Hugging Face's struct of bytes and path, of which one may be null: `python make.py`. Version: pyarrow 26.0.1."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
rows = [
    (None, "pics/a.jpg"),
    (b"in the table", "b.jpg"),
    (None, "../secret"),
    (None, "pics/none.jpg"),
    (None, None),
    (None, "/etc/passwd"),
    (None, "pics/../pics/c.jpg"),
]
image = pa.array(
    [{"bytes": data, "path": path} for data, path in rows],
    pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
)
table = pa.table({"image": image, "label": pa.array(range(len(rows)))})
pq.write_table(table, HERE / "table.parquet", row_group_size=3)
with pa.OSFile(str(HERE / "table.arrow"), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
    writer.write_table(table, max_chunksize=3)
