"""Megatron's order in Python: one epoch, and going on from what a run there has consumed."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import millrace

pytestmark = pytest.mark.usefixtures("engine")


def write(folder, name, lengths):
    tokens = np.arange(sum(lengths), dtype="<u2")
    (folder / f"{name}.bin").write_bytes(tokens.tobytes())
    lengths = np.array(lengths, "<i4")
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype("<i8") * 2
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(lengths) + 1)
    index = head + lengths.tobytes() + starts.tobytes() + np.arange(len(lengths) + 1, dtype="<i8").tobytes()
    (folder / f"{name}.idx").write_bytes(index)


def test_one_epoch_and_a_place_in_it(tmp_path):
    write(tmp_path, "web", [30, 50, 10, 41])
    feed = millrace.tokens(tmp_path / "web", length=8).megatron(samples=24, split="1").batch(4)
    with feed.open(workers=1) as loader:
        rows = [batch["input"].copy() for batch in loader]
        assert len(rows) == 6
        state = loader.state_dict()
        with pytest.raises(millrace.StateError, match="Megatron's order ends here"):
            next(iter(loader))
        loader.load_state_dict({**state, "epoch": 0, "position": 16})
        assert [batch["input"].tolist() for batch in loader] == [row.tolist() for row in rows[4:]]
    with feed.open(workers=1, steps=100) as loader:
        assert sum(1 for _ in loader) == 6
    with pytest.raises(millrace.DefinitionError, match="goes once through"):
        feed.open(workers=1, epochs=2)
