"""Sizes, places, cuts and arguments, checked against the plain way of saying the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from millrace._generated.parameter_words import Word
from millrace._gpu import plan
from millrace.errors import EngineError

WORDS = 48


def rows_of(*heads):
    """Parameter rows from (form, bytes, width, height, picture, tables)."""
    rows = np.zeros((len(heads), WORDS), np.uint32)
    for row, head in zip(rows, heads):
        row[[0, 1, 2, 3, 6, 10]] = head
    return rows


def test_headers_are_read_column_by_column():
    rows = rows_of((1, 500, 40, 30, 3000, 8), (0, 0, 9, 9, 0, 0), (3, 36, 4, 3, 1 << 31, 1))
    heads = plan.read_heads(rows, 1000, "image")
    assert heads.form.tolist() == [1, 0, 3] and heads.bytes.tolist() == [500, 0, 36]
    assert heads.pixels.tolist() == [3600, 0, 36]
    assert heads.picture.tolist() == [3000, 0, 1 << 31]  # unsigned
    assert plan.scratch_of(heads) == (1 << 31, 256)
    assert plan.scratch_of(heads.only(0, 1)).stretch == 2 * 3072 + 256


@pytest.mark.parametrize(
    "head",
    [(4, 10, 2, 2), (1, 1001, 2, 2), (3, 13, 2, 2), (1, 10, 0, 2)],
    ids=["form", "longer than the room", "pixels of another size", "no width"],
)
def test_a_header_that_makes_no_sense_is_named(head):
    rows = rows_of((1, 10, 2, 2, 0, 0), (*head, 0, 0))
    with pytest.raises(EngineError, match="field 'image', row 1: .*room 1000"):
        plan.read_heads(rows, 1000, "image")


def test_cuts_fill_what_they_may():
    chance = random.Random(5)
    for _ in range(300):
        sizes = np.array([chance.choice([0, 1, 5, 50, 120]) for _ in range(chance.randrange(1, 30))])
        capacity = chance.randrange(1, 200)
        runs = plan.cut(sizes, capacity)
        assert [run[0] for run in runs] == [0, *[run[1] for run in runs[:-1]]]
        assert runs[-1][1] == len(sizes)
        for first, behind in runs:
            assert behind > first
            assert behind == first + 1 or sizes[first:behind].sum() <= capacity
            if behind < len(sizes):  # one more would have been too much
                assert sizes[first : behind + 1].sum() > capacity


def test_places():
    assert plan.places(np.array([256, 0, 512, 256])).tolist() == [0, 256, 256, 768]
    assert plan.aligned(np.array([0, 1, 256, 257])).tolist() == [0, 256, 256, 512]


def test_arguments_of_nvjpeg_byte_by_byte():
    rows = rows_of((1, 500, 40, 30, 0, 0), (3, 12, 2, 2, 0, 0), (1, 600, 50, 20, 0, 0))
    rows[:, Word.SAMPLING] = 0x22, 0, 0x11
    heads = plan.read_heads(rows, 1000, "image")
    high = 0x7F00_0000_0000
    targets = np.array([high, high + 3840, high + 4096])
    some = plan.bitstreams(1 << 46, 10_000, np.array([0, 2]), heads, targets)
    assert some.data.tobytes() == np.array([1 << 46, (1 << 46) + 20_000], "<u8").tobytes()
    assert some.lengths.tobytes() == np.array([500, 600], "<u8").tobytes()
    expected = np.array([[high, 0, 0, 0, 120, 0, 0, 0], [high + 4096, 0, 0, 0, 150, 0, 0, 0]], "<u8")
    assert some.images.tobytes() == expected.tobytes()
    assert some.sampling.tolist() == [0x22, 0x11]
    assert some.only(np.array([1])).lengths.tolist() == [600]


def test_runs_of_equal_rows():
    sizes = np.array([9, 9, 9, 7, 7, 9, 9])
    assert plan.equal_runs(np.array([0, 1, 3, 4, 5, 6]), sizes) == [(0, 2), (3, 2), (5, 2)]
    assert plan.equal_runs(np.array([2]), sizes) == [(2, 1)]
    assert plan.equal_runs(np.zeros(0, np.int64), sizes) == []


def test_blocks_keep_to_their_share():
    assert plan.blocks_of(256, 16, 1000, 1 << 20) == 16
    assert plan.blocks_of(5, 16, 1000, 1 << 20) == 5
    assert plan.blocks_of(256, 16, 1000, 3500) == 3
    assert plan.blocks_of(256, 16, 10_000, 3500) == 1
    assert plan.blocks_of(256, 16, 0, 3500) == 16


def test_mixes_end_in_the_result():
    assert plan.mix_steps(0, 1, None) == (1, [])
    assert plan.mix_steps(1, 1, 2) == (2, [(2, 1)])
    assert plan.mix_steps(2, 1, 2) == (1, [(1, 2), (2, 1)])
    with pytest.raises(ValueError, match="second array"):
        plan.mix_steps(1, 1, None)


def test_arguments_of_the_kernels():
    target = plan.Target("bf16", "hwc", 224, 160)
    parts = plan.Scratch(5, 6)
    assert plan.picture_arguments(1, 48, 2, 3, 4, parts, 8, 9, target) == (
        1, 48, 2, 3, 4, 5, 6, 8, 9, 8, 1, 224, 160,
    )  # fmt: skip
    assert plan.mix_arguments(1, 0, 2, 3, 4, plan.Target("u8", "chw", 8, 9)) == (1, 0, 2, 3, 4, 0, 0, 8, 9)
