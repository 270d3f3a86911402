"""Writes indices of Megatron's GPTDataset and BlendedDataset, made by its published algorithm with numpy: `python make.py`.
Of each array a digest, its first and its last numbers are kept. Versions: numpy 2.4.6."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def told(array):
    array = np.ascontiguousarray(array, dtype="<i8")
    flat = array.ravel()
    return {
        "shape": list(array.shape),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "first": flat[:8].tolist(),
        "last": flat[-8:].tolist(),
    }


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


def gpt(lengths, split, take, samples, length, seed, extra=1, keep_partial=False):
    shares = np.cumsum([0.0, *split]) / sum(split)
    begin, end = (int(round(float(share) * len(lengths))) for share in shares[take : take + 2])
    documents = np.arange(begin, end, dtype=np.int32)
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
    starts = sample_index(lengths, order, length, epochs, tokens, keep_partial, extra)
    count = len(starts) - 1
    first = ((epochs - 1) * tokens - extra) // length if separate else count
    parts = [np.arange(first, dtype=np.uint32)]
    if first < count:
        parts.append(np.arange(first, count, dtype=np.uint32))
    for part in parts:
        random.shuffle(part)
    return {
        "from": begin,
        "to": end,
        "epochs": epochs,
        "separate": bool(separate),
        "documents": told(order),
        "starts": told(starts),
        "shuffle": told(np.concatenate(parts)),
    }


def blend(weights, size):
    weights = np.array(weights, np.float64)
    weights /= np.sum(weights)
    drawn = [0] * len(weights)
    sources, samples = [], []
    for position in range(size):
        behind = [weight * max(position, 1.0) - got for weight, got in zip(weights, drawn)]
        source = behind.index(max(behind))
        sources.append(source)
        samples.append(drawn[source])
        drawn[source] += 1
    return {"sources": told(sources), "samples": told(samples)}


def lengths_of(kind, count, seed):
    random = np.random.default_rng(seed)
    if kind == "even":
        return np.full(count, 64, np.int32)
    if kind == "zeros":
        return np.where(random.random(count) < 0.3, 0, random.integers(1, 90, count)).astype(np.int32)
    return random.lognormal(4, 1.2, count).astype(np.int32) + 1


CASES = [
    dict(kind=kind, count=count, split=split, take=take, samples=samples, length=length, seed=seed, **more)
    for kind, count, split, take, samples, length, seed, more in [
        ("mixed", 1000, [969, 30, 1], 0, None, 128, 1234, {}),
        ("mixed", 1000, [969, 30, 1], 1, None, 128, 1234, {}),
        ("mixed", 1000, [969, 30, 1], 1, 400, 32, 1234, {}),
        ("mixed", 1000, [1], 0, 500, 128, 1234, {}),
        ("mixed", 1000, [1], 0, 900, 128, 1234, {}),
        ("mixed", 1000, [1], 0, 1000, 128, 42, {}),
        ("mixed", 1000, [1], 0, 1300, 128, 42, {}),
        ("mixed", 1000, [1], 0, 1700, 128, 42, {}),
        ("mixed", 1000, [1], 0, 5000, 128, 42, {}),
        ("mixed", 333, [8, 1, 1], 2, 5000, 16, 7, {}),
        ("mixed", 333, [8, 1, 1], 1, 77, 16, 7, dict(keep_partial=True)),
        ("mixed", 333, [8, 1, 1], 1, None, 16, 0, dict(keep_partial=True)),
        ("even", 100, [1], 0, 250, 64, 3, {}),
        ("even", 100, [1], 0, 99, 64, 3, {}),
        ("even", 100, [1], 0, 100, 64, 3, {}),
        ("even", 100, [1], 0, 100, 64, 3, dict(extra=0)),
        ("even", 3, [1], 0, 1000, 5, 4294967295, {}),
        ("zeros", 500, [1], 0, 700, 20, 11, {}),
        ("zeros", 500, [90, 10], 1, 700, 20, 11, {}),
        ("zeros", 500, [90, 10], 0, None, 2048, 11, {}),
        ("mixed", 20000, [969, 30, 1], 0, 100000, 64, 1234, {}),
        ("mixed", 1, [1], 0, 40, 8, 5, {}),
    ]
]
out = {"gpt": [], "blend": []}
for case in CASES:
    more = {key: case[key] for key in ("extra", "keep_partial") if key in case}
    lengths = lengths_of(case["kind"], case["count"], 9)
    found = gpt(
        lengths, case["split"], case["take"], case["samples"], case["length"], case["seed"], **more
    )
    out["gpt"].append({**case, **found})
lengths = {}
for case in CASES:
    lengths[f"{case['kind']} {case['count']}"] = lengths_of(case["kind"], case["count"], 9).tolist()
big = lengths.pop("mixed 20000")
(HERE / "lengths-20000.bin").write_bytes(np.array(big, "<i4").tobytes())
out["lengths"] = lengths
for weights in ([1.0], [0.5, 0.5], [0.3, 0.7], [0.1] * 10, [5, 3, 1, 0.01], [1 / 3, 1 / 3, 1 / 3], [1e-6, 1, 2]):
    out["blend"].append({"weights": weights, "size": 3000, **blend(weights, 3000)})
(HERE / "expected.json").write_text(json.dumps(out) + "\n")
