"""Writes token files of several formats with struct and numpy, after the layouts of their programs, and what is in them, as JSON:
`python make.py`. `python make.py --check` writes nothing: it has megatron-core write and read the same sequences, and compares.
Versions: numpy 2.4.6, megatron-core 0.16.1."""

import gzip
import json
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
EOD = 50256
CODES = {"uint8": 1, "int32": 4, "int64": 5, "uint16": 8}


def megatron(name, documents, dtype, modes=None, counted=True):
    """Documents are lists of sequences, which are lists of tokens. Not `counted`: blendcorpus writes the last token of a document, and
    leaves it out of the length."""
    sequences = [sequence for document in documents for sequence in document]
    item = np.dtype(dtype).itemsize
    lengths = [len(sequence) - (0 if counted else 1) for sequence in sequences]
    pointers = [item * sum(lengths[:i]) for i in range(len(lengths))]
    indices = [0]
    for document in documents:
        indices.append(indices[-1] + len(document))
    with open(f"{name}.bin", "wb") as file:
        for sequence in sequences:
            file.write(np.array(sequence, dtype=dtype).tobytes())
    with open(f"{name}.idx", "wb") as file:
        file.write(b"MMIDIDX\x00\x00")
        file.write(struct.pack("<QBQQ", 1, CODES[dtype], len(sequences), len(indices)))
        file.write(struct.pack(f"<{len(lengths)}i", *lengths))
        file.write(struct.pack(f"<{len(pointers)}q", *pointers))
        file.write(struct.pack(f"<{len(indices)}q", *indices))
        if modes is not None:
            file.write(struct.pack(f"<{len(modes)}b", *modes))


def some(seed, count, most, longest=40):
    """Documents of one sequence, some of them empty."""
    random = np.random.default_rng(seed)
    lengths = random.integers(0, longest, count)
    lengths[::7] = 0
    return [[random.integers(0, most, length).tolist()] for length in lengths]


def ended(documents):
    return [[[*sequence, EOD] for sequence in document] for document in documents]


MULTI = [
    [[1, 2, 3], [4, 5]],
    [[6]],
    [],
    [[], [7, 8], [9]],
    [[]],
    [[10, 11, 12, 13], [], [14]],
]
MODES = [[[1, 2, 3], [70, 71]], [[4, 5]], [[72], [6, 7, 8, 9]]]
MEGATRON = {
    "u8": (some(1, 30, 256), "uint8", None),
    "u16": (ended(some(2, 300, 50256)), "uint16", None),
    "i32": (some(3, 200, 128256), "int32", None),
    "i64": (some(4, 20, 200000), "int64", None),
    "multi": (MULTI, "int32", None),
    "modes": (MODES, "uint16", [0, 1, 0, 1, 0]),
    "none": ([], "uint16", None),
    "only-empty": ([[[]], [[]]], "uint16", None),
}
BLENDCORPUS = ended([[[10, 11, 12]], [[20, 21]], [[30, 31, 32, 33]]])
STREAM = [document[0] for document in ended(some(5, 40, 50256))]
LARGE = [document[0] for document in some(6, 12, 128000)]


def check():
    """megatron-core's builder makes the same bytes of the same sequences, and its reader finds them."""
    from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

    with tempfile.TemporaryDirectory() as folder:
        for name, (documents, dtype, modes) in MEGATRON.items():
            path = f"{folder}/{name}"
            builder = IndexedDatasetBuilder(f"{path}.bin", dtype=np.dtype(dtype).type, multimodal=modes is not None)
            left = iter(modes or [])
            for document in documents:
                lengths = [len(sequence) for sequence in document]
                tokens = [token for sequence in document for token in sequence]
                builder.add_document(
                    np.array(tokens, dtype=dtype), lengths, None if modes is None else [next(left) for _ in lengths]
                )
            builder.finalize(f"{path}.idx")
            for ending in ("bin", "idx"):
                theirs = Path(f"{path}.{ending}").read_bytes()
                assert theirs == (HERE / f"{name}.{ending}").read_bytes(), f"{name}.{ending}"
            if documents:
                sequences = [sequence for document in documents for sequence in document]
                if any(sequences):
                    read = IndexedDataset(str(HERE / name), multimodal=modes is not None)
                    found = [(one[0] if modes else one).tolist() for one in (read[i] for i in range(len(read)))]
                    assert found == sequences, name
            print(f"{name}: equal to megatron-core")


def make():
    for name, (documents, dtype, modes) in MEGATRON.items():
        megatron(HERE / name, documents, dtype, modes)
    megatron(HERE / "blendcorpus", BLENDCORPUS, "uint16", counted=False)

    flat = np.array([token for document in STREAM for token in document])
    flat.astype("<u2").tofile(HERE / "nanogpt.bin")
    np.save(HERE / "array-u16.npy", flat.astype("<u2"))
    np.save(HERE / "array-i64.npy", flat.astype("<i8"))
    np.save(HERE / "array-2d.npy", np.zeros((3, 4), dtype="<u2"))
    flat.astype("<u4").tofile(HERE / "olmo.npy")
    flat.astype("<u4").tofile(HERE / "olmo-bare.npy")
    ends = np.cumsum([len(document) for document in STREAM]).tolist()
    starts = [0, *ends[:-1]]
    lines = [f"{start},{end},{i},source.jsonl,{i}\n" for i, (start, end) in enumerate(zip(starts, ends, strict=True))]
    (HERE / "olmo.csv.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))

    def llmc(name, documents, magic, version, dtype):
        tokens = np.array([token for document in documents for token in document])
        header = np.zeros(256, dtype="<i4")
        header[:3] = [magic, version, len(tokens)]
        (HERE / name).write_bytes(header.tobytes() + tokens.astype(dtype).tobytes())

    first = [[EOD, *document[:-1]] for document in STREAM]
    llmc("llmc-u16.bin", first, 20240520, 1, "<u2")
    llmc("llmc-u32.bin", [[128000, *document] for document in LARGE], 20240801, 7, "<u4")
    llmc("llmc-eval.bin", first[:1], 20240522, 1, "<u2")
    (HERE / "expected.json").write_text(
        json.dumps(
            {
                "eod": EOD,
                **{name: documents for name, (documents, _, _) in MEGATRON.items()},
                "blendcorpus": BLENDCORPUS,
                "stream": STREAM,
                "llmc-u16": first,
                "llmc-u32": [[128000, *document] for document in LARGE],
            }
        )
        + "\n"
    )


if __name__ == "__main__":
    check() if "--check" in sys.argv else make()
