"""Writes what Megatron's GPTDataset and BlendedDataset give, made by their published algorithm with numpy: `python make.py`.

The file has indices (of each array a digest, its first and its last numbers), and for the same cases and for blends the tokens of
all samples, in the order in which Megatron hands them out. The tokens of a file are `tokens_of(lengths)`, so that no data need be
kept. Versions: numpy 2.4.6."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
PAD = -1


def told(array):
    array = np.ascontiguousarray(array, dtype="<i8")
    flat = array.ravel()
    return {
        "shape": list(array.shape),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "first": flat[:8].tolist(),
        "last": flat[-8:].tolist(),
    }


def normalize(weights):
    weights = np.array(weights, dtype=np.float64)
    return (weights / np.sum(weights)).tolist()


def split_range(split, take, count):
    """The split matrix: shares first, then their sums, then rounded products."""
    vector = normalize([*split, *[0.0] * (3 - len(split))])
    ends = [0]
    for share in vector:
        ends.append(ends[-1] + share)
    return (int(round(end * float(count))) for end in ends[take : take + 2])


def sample_index(lengths, documents, length, epochs, tokens, keep_partial, extra):
    total = epochs * tokens - extra
    if keep_partial:
        count = int(math.ceil(np.float32(total) / np.float32(length)))
    else:
        count = total // length
    out = np.zeros((count + 1, 2), np.int64)
    document = offset = 0
    for sample in range(1, count + 1):
        remaining = length + extra
        while remaining != 0:
            here = int(lengths[documents[document]]) - offset
            remaining -= here
            if remaining <= 0:
                offset += remaining + here - extra
                remaining = 0
            else:
                if document == len(documents) - 1:
                    offset = int(lengths[documents[document]]) - extra
                    break
                document += 1
                offset = 0
        out[sample] = document, offset
    return out


class Gpt:
    """A GPTDataset of a file whose sequences have these lengths."""

    def __init__(self, lengths, split, take, samples, length, seed, extra=1, keep_partial=False):
        self.lengths, self.length, self.extra = lengths, length, extra
        self.begin, self.end = split_range(split, take, len(lengths))
        documents = np.arange(self.begin, self.end, dtype=np.int32)
        tokens = int(np.sum(lengths[documents]))
        epochs = 1
        if samples is not None:
            while epochs * tokens < samples * length + extra:
                epochs += 1
        separate = False
        if samples is not None and epochs > 1:
            before = ((epochs - 1) * tokens - extra) // length
            separate = samples - before < int(0.80 * ((tokens - extra) // length))
        random = np.random.RandomState(seed)

        def shuffled(times):
            many = np.mgrid[0:times, 0 : len(documents)][1]
            many[:] = documents
            many = many.reshape(-1).astype(np.int32)
            random.shuffle(many)
            return many

        order = np.concatenate([shuffled(epochs - 1), shuffled(1)]) if separate else shuffled(epochs)
        self.starts = sample_index(lengths, order, length, epochs, tokens, keep_partial, extra)
        count = len(self.starts) - 1
        first = ((epochs - 1) * tokens - extra) // length if separate else count
        parts = [np.arange(first, dtype=np.uint32)]
        if first < count:
            parts.append(np.arange(first, count, dtype=np.uint32))
        for part in parts:
            random.shuffle(part)
        self.shuffle = np.concatenate(parts)
        self.order, self.epochs, self.separate = order, epochs, bool(separate)
        self.stream = tokens_of(lengths)
        self.pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    def __len__(self):
        return len(self.shuffle)

    def get(self, document, offset, length=None):
        begin = self.pointers[document] + offset
        end = self.pointers[document + 1] if length is None else begin + length
        return self.stream[begin:end]

    def __getitem__(self, position):
        sample = self.shuffle[position]
        (first, begin), (last, end) = self.starts[sample], self.starts[sample + 1]
        if first == last:
            parts = [self.get(self.order[first], begin, end - begin + self.extra)]
        else:
            parts = [self.get(self.order[first], begin)]
            parts += [self.get(self.order[i], 0) for i in range(first + 1, last)]
            parts += [self.get(self.order[last], 0, end + self.extra)]
        text = np.concatenate(parts).astype(np.int64)
        missing = self.length + self.extra - len(text)
        return np.concatenate([text, np.full(missing, PAD, np.int64)]) if missing > 0 else text

    def told(self):
        return {
            "from": self.begin,
            "to": self.end,
            "epochs": self.epochs,
            "separate": self.separate,
            "documents": told(self.order),
            "starts": told(self.starts),
            "shuffle": told(self.shuffle),
        }


def blending(weights, size):
    """build_blending_indices"""
    drawn = [0] * len(weights)
    sources, samples = [], []
    for position in range(size):
        behind = [weight * max(position, 1.0) - got for weight, got in zip(weights, drawn)]
        source = behind.index(max(behind))
        sources.append(source)
        samples.append(drawn[source])
        drawn[source] += 1
    return sources, samples


def exhaustive(sizes):
    """build_exhaustive_blending_indices"""
    total = sum(sizes)
    weights = [size / float(total) for size in sizes]
    drawn = [0] * len(sizes)
    unspent = [i for i in range(len(sizes))]
    sources, samples = [], []
    while unspent:
        place = max(float(len(sources)), 1.0)
        best = max(unspent, key=lambda i: (weights[i] * place - drawn[i], -i))
        sources.append(best)
        samples.append(drawn[best])
        drawn[best] += 1
        if drawn[best] == sizes[best]:
            unspent.remove(best)
    return sources, samples


def blended(files, weights, samples, surplus=0.005, **more):
    """A BlendedDataset as the builder makes it: which dataset and which of its samples stands at each position, and the datasets."""
    if weights is None:
        datasets = [Gpt(lengths_of(**file), samples=None, **more) for file in files]
        sizes = [len(dataset) for dataset in datasets]
        if samples is None:
            return *exhaustive(sizes), datasets
        return *blending(normalize(sizes), min(samples, sum(sizes))), datasets
    weights = normalize(weights)
    targets = [math.ceil(samples * weight) for weight in weights]
    datasets = [
        Gpt(lengths_of(**file), samples=int(math.ceil(target * (1 + surplus))), **more)
        for file, target in zip(files, targets)
    ]
    return *blending(normalize(weights), sum(targets)), datasets


def lengths_of(kind, count, seed=9):
    random = np.random.default_rng(seed)
    if kind == "even":
        return np.full(count, 64, np.int32)
    if kind == "zeros":
        return np.where(random.random(count) < 0.3, 0, random.integers(1, 90, count)).astype(np.int32)
    return random.lognormal(4, 1.2, count).astype(np.int32) + 1


def tokens_of(lengths):
    """The tokens of a file: each tells where it stands, and the file's lengths."""
    total = int(np.sum(lengths))
    return ((np.arange(total, dtype=np.int64) * 40503 + total * 7) % 65521).astype(np.uint16)


CASES = [
    dict(kind=kind, count=count, split=split, take=take, samples=samples, length=length, seed=seed, **more)
    for kind, count, split, take, samples, length, seed, more in [
        ("mixed", 1000, [969, 30, 1], 0, None, 128, 1234, {}),
        ("mixed", 1000, [969, 30, 1], 1, None, 128, 1234, {}),
        ("mixed", 1000, [969, 30, 1], 1, 400, 32, 1234, {}),
        ("mixed", 1000, [969, 30, 1], 2, 20, 32, 1234, {}),
        ("mixed", 1000, [1], 0, 500, 128, 1234, {}),
        ("mixed", 1000, [1], 0, 900, 128, 1234, {}),
        ("mixed", 1000, [1], 0, 1000, 128, 42, {}),
        ("mixed", 1000, [1], 0, 1300, 128, 42, {}),
        ("mixed", 1000, [1], 0, 1700, 128, 42, {}),
        ("mixed", 1000, [1], 0, 5000, 128, 42, {}),
        ("mixed", 333, [8, 1, 1], 2, 5000, 16, 7, {}),
        ("mixed", 333, [8, 1, 1], 1, 77, 16, 7, dict(keep_partial=True)),
        ("mixed", 333, [8, 1, 1], 1, None, 16, 0, dict(keep_partial=True)),
        ("mixed", 333, [0.7, 0.2, 0.1], 0, 300, 16, 0, {}),
        ("even", 100, [1], 0, 250, 64, 3, {}),
        ("even", 100, [1], 0, 99, 64, 3, {}),
        ("even", 100, [1], 0, 100, 64, 3, {}),
        ("even", 100, [1], 0, 100, 64, 3, dict(extra=0)),
        ("even", 100, [1], 0, 170, 48, 3, dict(extra=0)),
        ("even", 3, [1], 0, 1000, 5, 4294967295, {}),
        ("zeros", 500, [1], 0, 700, 20, 11, {}),
        ("zeros", 500, [90, 10], 1, 700, 20, 11, {}),
        ("zeros", 500, [90, 10], 0, None, 2048, 11, {}),
        ("zeros", 500, [90, 10], 1, None, 50, 2, dict(keep_partial=True)),
        ("mixed", 20000, [969, 30, 1], 0, 100000, 64, 1234, {}),
        ("mixed", 1, [1], 0, 40, 8, 5, {}),
    ]
]

FILES = [
    dict(kind="mixed", count=300, seed=1),
    dict(kind="mixed", count=80, seed=2),
    dict(kind="zeros", count=200, seed=3),
    dict(kind="even", count=50),
]
MANY = [dict(kind="mixed", count=20 + 3 * i, seed=10 + i) for i in range(11)]
BLENDS = [
    dict(files=files, weights=weights, samples=samples, split=split, take=take, length=length, seed=seed)
    for files, weights, samples, split, take, length, seed in [
        (FILES[:2], [0.3, 0.7], 600, [969, 30, 1], 0, 64, 1234),
        (FILES, [3, 1, 1, 0.5], 1500, [969, 30, 1], 0, 32, 1234),
        (FILES, [3, 1, 1, 0.5], 100, [80, 15, 5], 1, 32, 1234),
        (FILES[:1], [1.0], 200, [1], 0, 32, 7),
        (FILES, None, None, [969, 30, 1], 0, 64, 42),
        (FILES, None, 300, [969, 30, 1], 0, 64, 42),
        (FILES, None, 100000, [80, 15, 5], 1, 16, 42),
        (MANY, [0.1 + 0.37 * i for i in range(11)], 900, [1], 0, 32, 99),
    ]
]

if __name__ == "__main__":
    out = {"gpt": [], "blend": [], "exhaustive": [], "feeds": []}
    for case in CASES:
        more = {key: case[key] for key in ("extra", "keep_partial") if key in case}
        lengths = lengths_of(case["kind"], case["count"])
        data = Gpt(
            lengths, case["split"], case["take"], case["samples"], case["length"], case["seed"], **more
        )
        count = len(data) if case["samples"] is None else min(case["samples"], len(data))
        tokens = told(np.stack([data[i] for i in range(count)])) if case["count"] < 20000 else None
        out["gpt"].append({**case, **data.told(), "tokens": tokens})
    lengths = {}
    for case in CASES:
        lengths[f"{case['kind']} {case['count']}"] = lengths_of(case["kind"], case["count"]).tolist()
    big = lengths.pop("mixed 20000")
    (HERE / "lengths-20000.bin").write_bytes(np.array(big, "<i4").tobytes())
    for blend in BLENDS:
        more = {key: blend[key] for key in ("split", "take", "length", "seed")}
        sources, samples, datasets = blended(blend["files"], blend["weights"], blend["samples"], **more)
        count = len(sources) if blend["samples"] is None else min(blend["samples"], len(sources))
        tokens = np.stack([datasets[sources[i]][samples[i]] for i in range(count)])
        files = [f"{file['kind']} {file['count']} {file.get('seed', 9)}" for file in blend["files"]]
        out["feeds"].append({**blend, "files": files, "sources": told(sources[:count]), "tokens": told(tokens)})
        for name, file in zip(files, blend["files"]):
            lengths[name] = lengths_of(**file).tolist()
    out["lengths"] = lengths
    random = np.random.default_rng(4)
    for weights in (
        [1.0],
        [0.5, 0.5],
        [0.3, 0.7],
        [0.1] * 10,
        [5, 3, 1, 0.01],
        [1 / 3, 1 / 3, 1 / 3],
        [1e-6, 1, 2],
        random.lognormal(0, 1, 9).tolist(),
        random.lognormal(0, 2, 57).tolist(),
        random.lognormal(0, 1, 300).tolist(),
    ):
        sources, samples = blending(normalize(normalize(weights)), 3000)
        shares = normalize(normalize(weights))
        digest = hashlib.sha256(np.array(shares, "<f8").tobytes()).hexdigest()
        out["blend"].append(
            {"weights": weights, "shares": digest, "size": 3000, "sources": told(sources), "samples": told(samples)}
        )
    for sizes in ([5], [3, 3], [100, 1, 17], [1, 999], random.integers(1, 300, 20).tolist()):
        sources, samples = exhaustive(sizes)
        out["exhaustive"].append({"sizes": sizes, "sources": told(sources), "samples": told(samples)})
    (HERE / "expected.json").write_text(json.dumps(out) + "\n")
