"""Rows of tokens: as NumPy, PyTorch and JAX arrays without a copy, of the type that is asked for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

import millrace
from millrace.errors import DefinitionError, MillraceError

LENGTH, ROWS = 8, 12


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    tokens = np.arange(1, LENGTH * ROWS + 2, dtype=np.uint16)
    tokens[20] = 0  # the end of a document
    tokens.tofile(tmp_path / "corpus.bin")
    return tmp_path / "corpus.bin"


def feed_of(path: Path, **more: Any) -> Dict[str, Any]:
    source = {"path": str(path), "dtype": "u16", "length": LENGTH, "phase": 0, "eod": 0}
    return {"source": {"tokens": source}, "batch": 4, **more}


def row(first: int) -> np.ndarray[Any, Any]:
    tokens = np.arange(1, LENGTH * ROWS + 2)
    tokens[20] = 0
    return np.stack([tokens[i * LENGTH + first : (i + 1) * LENGTH + first] for i in range(ROWS)])


def test_inputs_and_targets_are_the_slot_itself(engine, corpus):
    with millrace.Feed(feed_of(corpus), epochs=1, workers=1) as feed:
        seen = []
        for batch in feed:
            assert batch["input"].dtype == batch["target"].dtype == np.int64
            assert batch["input"].base is not None  # a view
            seen.append((batch["input"].copy(), batch["target"].copy()))
    assert np.array_equal(np.concatenate([x for x, _ in seen]), row(0))
    assert np.array_equal(np.concatenate([y for _, y in seen]), row(1))


def test_pytorch_and_jax_have_the_same_without_a_copy(engine, corpus):
    torch = pytest.importorskip("torch")
    fields = {"x": {"from": "input", "dtype": "i32"}, "y": {"from": "target"}}
    with millrace.Feed(feed_of(corpus, fields=fields), epochs=1, workers=1) as feed:
        for i, batch in enumerate(feed.torch()):
            x, y = batch["x"], batch["y"]
            assert (x.dtype, y.dtype) == (torch.int32, torch.int64)
            assert x.shape == y.shape == (4, LENGTH)
            assert np.array_equal(x.numpy(), row(0)[4 * i : 4 * i + 4])
            x[0, 0] = 77  # the tensor lies in memory that this process may write
            assert x.data_ptr() % 64 == y.data_ptr() % 64 == 0
    pytest.importorskip("jax")
    with millrace.Feed(feed_of(corpus, fields=fields), epochs=1, workers=1) as feed:
        for i, batch in enumerate(feed.jax()):
            assert np.array_equal(np.asarray(batch["x"]), row(0)[4 * i : 4 * i + 4])


def test_borders_of_segments_are_one_array(engine, corpus):
    fields = ["input", "cuSeqlens", "cuCount"]
    with millrace.Feed(feed_of(corpus, fields=fields), epochs=1, workers=1) as feed:
        assert f"cuSeqlens i32[{4 * LENGTH}] flat" in repr(feed)
        first = next(iter(feed))
        assert first["cuSeqlens"].shape == (4 * LENGTH,)
        count = int(first["cuCount"].sum())
        borders = first["cuSeqlens"].tolist()
        assert {0, 8, 16, 24, 32} <= set(borders[: count + 1])
        assert borders[count:] == [32] * (4 * LENGTH - count)


def test_a_loop_goes_on_until_steps_or_tokens_end_it(engine, corpus):
    order = {"shuffle": "global", "seed": 1}

    def epochs(**options: Any) -> Any:
        with millrace.Feed(feed_of(corpus, order=order), workers=1, **options) as feed:
            seen = []
            for batch in feed:
                seen.append(batch.epoch)
                if len(seen) == 7:
                    break
            return seen

    assert epochs() == [0, 0, 0, 1, 1, 1, 2]
    assert epochs(epochs=1) == [0, 0, 0]
    assert epochs(steps=2) == [0, 0]
    assert epochs(tokens=4 * 32 + 1) == [0, 0, 0, 1, 1]
    assert epochs(tokens=4 * 32, rank=0, world=2, epochs=None) == [0, 1]
    with pytest.raises(DefinitionError, match="tokens: expected a whole number from 1"):
        epochs(tokens=0)


def test_validation_over_tokens_ends_and_has_a_length(engine, corpus):
    with millrace.Feed(feed_of(corpus), workers=1) as feed:
        for _ in range(2):
            assert len(feed) == len(list(feed)) == 3
        assert len(feed.dataset) == ROWS
        if importlib.util.find_spec("torch"):
            assert feed.torch().batch_size == 4
    shuffled = feed_of(corpus, order={"shuffle": "global", "seed": 1})
    with (
        millrace.Feed(shuffled, workers=1) as feed,
        pytest.raises(TypeError, match=r"never ends.*open\(epochs=1\).*\.sequential\(\)"),
    ):
        len(feed)
    with millrace.Feed(shuffled, workers=1, epochs=1) as feed:
        assert len(feed) == len(list(feed)) == 3


class Mesh:
    """As a DeviceMesh of one dimension."""

    ndim = 1

    def get_local_rank(self) -> int:
        return 1

    def size(self) -> int:
        return 2


@pytest.mark.parametrize("sequence", [(1, 2), (1, 2, "zigzag"), {"rank": 1, "world": 2}, Mesh()])
def test_ranks_of_a_sequence_get_their_part_of_each_row(engine, corpus, sequence, caplog):
    with (
        caplog.at_level("INFO", "millrace"),
        millrace.Feed(feed_of(corpus), sequence=sequence, workers=1) as feed,
    ):
        batch = next(iter(feed))
        assert np.array_equal(batch["input"], row(0)[:4, 2:6])
        assert np.array_equal(batch["target"], row(1)[:4, 2:6])
    assert "the 2 ranks of this sequence have the same rows" in caplog.text


def test_a_sequence_that_can_not_be(engine, corpus):
    with pytest.raises(DefinitionError, match="sequence: give"):
        millrace.Feed(feed_of(corpus), sequence=(1,))
    with pytest.raises(MillraceError, match="can't be cut into 6 equal chunks"):
        millrace.Feed(feed_of(corpus), sequence=(1, 3))
