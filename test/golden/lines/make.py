"""Makes JSON lines, CSV and text files of many kinds, and what Python's libraries find in them.

    python3 test/golden/lines/make.py        (needs datasets, pandas, pyarrow, zstandard)

golden.json has the files in base64, by name, and for each what it should give. Integers are written as texts, since JSON's
readers round them.
"""

import base64
import csv
import gzip
import io
import json
import pathlib
import random
import tempfile

import datasets
import pandas
import pyarrow
import pyarrow.csv
import zstandard

HERE = pathlib.Path(__file__).parent
files = {}
cases = []
draw = random.Random(7)
WORDS = ["", "a", "é", "😀", '"', '""', ",", "\n", "\r\n", " ", "\t", "\\", "\u2028", "0", "-1", "\ufeff", "'", ";"]


def word():
    return "".join(draw.choice(WORDS) for _ in range(draw.randrange(6)))


def plain(value):
    """A value as the test compares it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def add(name, data, source, **expected):
    files[name] = base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()
    cases.append({"name": name, "source": source, **expected})


# JSON lines, by json.
numbers = [0, -1, 2**31, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, 10**17, 0.5, -2.5e-8, 1e22, 1.7976931348623157e308, 5e-324]
numbers += [float("inf"), float("-inf"), 0.1, 123456.789, True, False, None]
objects = [{"number": n, "text": word(), "list": [draw.randrange(-9, 9) for _ in range(i % 4)]} for i, n in enumerate(numbers)]
objects += [{"text": word() * 9, "floats": [draw.random() for _ in range(3)], "a": {"b": i}} for i in range(40)]
for name, options in {
    "ascii.jsonl": {},
    "unicode.jsonl": {"ensure_ascii": False},
    "tight.jsonl": {"separators": (",", ":")},
    "sorted.jsonl": {"sort_keys": True},
}.items():
    text = "".join(json.dumps(one, **options) + "\n" for one in objects)
    rows = [json.loads(line) for line in text.split("\n") if line]
    flat = [{**{k: plain(v) for k, v in row.items() if k != "a"}, **({"a.b": plain(row["a"]["b"])} if "a" in row else {})} for row in rows]
    add(name, text, {"jsonl": name}, columns=["number", "text", "list", "floats", "a.b"], rows=flat)
    if name == "unicode.jsonl":
        compressed = {"gzip": gzip.compress(text.encode()), "zstd": zstandard.compress(text.encode())}
        half = len(text) // 2
        for codec, pack in {"gzip": gzip.compress, "zstd": zstandard.compress}.items():
            compressed[f"{codec}-parts"] = pack(text[:half].encode()) + pack(text[half:].encode())
        stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
        compressed["zstd-stream"] = stream.compress(text.encode()) + stream.flush()
        for kind, data in compressed.items():
            add(f"{kind}.jsonl", data, {"jsonl": f"{kind}.jsonl"}, columns=["number", "text"], rows=flat)

# CSV, by csv: all cells are texts.
for number, options in enumerate(
    [
        {},
        {"quoting": csv.QUOTE_ALL},
        {"lineterminator": "\n"},
        {"lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC},
        {"delimiter": ";"},
        {"delimiter": "\t", "lineterminator": "\n"},
    ]
):
    table = [[word() for _ in range(4)] for _ in range(60)]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, **options)
    writer.writerow(["w", "x", "y", "z"])
    writer.writerows(table)
    text = buffer.getvalue()
    delimiter = options.get("delimiter", ",")
    read = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    source = {"csv": {"path": f"csv-{number}.csv", "delimiter": delimiter, "types": dict.fromkeys("wxyz", "text")}}
    # An empty cell is no value, unless it stands in quotes, which csv does not tell.
    add(f"csv-{number}.csv", text, source, columns=list("wxyz"), rows=read, emptyIsNone=True)

# CSV with types, by pandas and pyarrow.
frame = pandas.DataFrame(
    {
        "i": [draw.randrange(-(10**6), 10**6) for _ in range(50)],
        "big": [draw.randrange(2**60, 2**63) for _ in range(50)],
        "f": [draw.uniform(-1e9, 1e9) for _ in range(50)],
        "holes": [None if i % 3 == 0 else draw.random() for i in range(50)],
        "b": [i % 2 == 0 for i in range(50)],
        "t": [f"{word()}x" for _ in range(50)],
    }
)
for name, options in {"pandas.csv": {"index": False}, "numbered.csv": {}, "pandas.tsv": {"index": False, "sep": "\t"}}.items():
    text = frame.to_csv(**options)
    parse = pyarrow.csv.ParseOptions(delimiter=options.get("sep", ","), newlines_in_values=True)
    table = pyarrow.csv.read_csv(io.BytesIO(text.encode()), parse_options=parse)
    names = {"int64": "int", "double": "float", "bool": "bool", "string": "text"}
    schema = {field.name: names[str(field.type)] for field in table.schema if field.name}
    rows = [{k: plain(v) for k, v in row.items() if k} for row in table.to_pylist()]
    again = pandas.read_csv(io.StringIO(text), sep=options.get("sep", ","))
    assert [int(v) for v in again["big"]] == list(frame["big"])
    add(name, text, {"csv": name}, columns=list(frame.columns), rows=rows, schema=schema)

# Text, by datasets.
for name, text in {
    "plain.txt": "one\ntwo\n\n three \n",
    "crlf.txt": "one\r\n\r\ntwo",
    "empty-lines.txt": "\n\n\n",
    "unicode.txt": "é😀\n\u2028x\u0085y\n" + "long " * 5000 + "\nend",
}.items():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_bytes(text.encode())
        found = datasets.load_dataset("text", data_files=str(path), cache_dir=folder)["train"]["text"]
    add(name, text, {"text": name}, columns=["text"], rows=[{"text": line} for line in found])

versions = {m.__name__: m.__version__ for m in (datasets, pandas, pyarrow, zstandard)}
(HERE / "golden.json").write_text(json.dumps({"versions": versions, "files": files, "cases": cases}, indent=0) + "\n")
