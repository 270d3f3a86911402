"""Feeds of tokens by the builder: the definition, and the rows against NumPy and nanoGPT's way of reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

import millrace

LENGTH = 16
Array = np.ndarray[Any, Any]


@pytest.fixture
def train(tmp_path: Path) -> Path:
    tokens = np.random.default_rng(0).integers(1, 50257, size=LENGTH * 23 + 5, dtype=np.uint16)
    tokens.tofile(tmp_path / "train.bin")
    return tmp_path / "train.bin"


def get_batch(path: Path, starts: Array) -> Tuple[Array, Array]:
    """As nanoGPT does, at given places."""
    data = np.memmap(path, dtype=np.uint16, mode="r")
    x = np.stack([data[i : i + LENGTH].astype(np.int64) for i in starts])
    y = np.stack([data[i + 1 : i + 1 + LENGTH].astype(np.int64) for i in starts])
    return x, y


def test_definition():
    built = millrace.tokens("a.bin", "b.bin", length=8, pack="best_fit", eod=0, eod_at="end").batch(4)
    source = {"path": ["a.bin", "b.bin"], "length": 8, "pack": "bestFit", "eod": 0, "eodAt": "end"}
    assert built.json() == {"source": {"tokens": source}, "batch": 4}
    listed = built.fields(["input", "cuSeqlens"])
    assert listed.json()["fields"] == ["input", "cuSeqlens"]
    assert built.fields("input", "cuSeqlens").json() == listed.json()
    assert built.fields("input").json()["fields"] == ["input"]
    with pytest.raises(TypeError, match="not several of these"):
        built.fields(["input"], "cuSeqlens")
    assert listed.variants(val={"batch": 2}).json()["variants"] == {"val": {"batch": 2}}
    named = built.fields(x={"from": "input", "dtype": "i32"})
    assert named.json()["fields"] == {"x": {"from": "input", "dtype": "i32"}}
    part = millrace.tokens("a.bin", length=8)
    both = millrace.blend([(part, 1), (part, 2)]).batch(4)
    assert "fields" not in both.json()
    with pytest.raises(TypeError, match="not both"):
        built.fields(["input"], x={"from": "input"})


def test_rows_are_those_that_nanogpt_reads(engine, train):
    feed = millrace.tokens(train, dtype="u16", length=LENGTH, phase=0).batch(4, last="drop")
    with feed.open(epochs=1, workers=1) as loader:
        for batch in loader:
            starts = np.asarray(batch.positions, dtype=np.int64) * LENGTH
            x, y = get_batch(train, starts)
            assert np.array_equal(batch["input"], x)
            assert np.array_equal(batch["target"], y)


def test_rows_of_a_shuffled_epoch_in_torch(engine, train):
    torch = pytest.importorskip("torch")
    feed = millrace.tokens(train, dtype="u16", length=LENGTH).shuffle(seed=3).batch(4)
    data = np.fromfile(train, dtype=np.uint16).astype(np.int64)
    with feed.open(epochs=2, workers=1) as loader:
        seen: dict[int, list[int]] = {}
        for batch in loader.torch():
            assert batch["input"].dtype == torch.int64
            for i, name in enumerate(batch.ids):
                start = int(name.split("+")[1])
                x, y = get_batch(train, np.array([start]))
                assert np.array_equal(batch["input"][i].numpy(), x[0])
                assert np.array_equal(batch["target"][i].numpy(), y[0])
                seen.setdefault(batch.epoch, []).append(start)
    phases = {min(starts) % LENGTH for starts in seen.values()}
    assert len(phases) == 2  # the cuts moved
    assert all({start % LENGTH for start in starts} == {min(starts) % LENGTH} for starts in seen.values())
    assert len(data) == LENGTH * 23 + 5
