"""The engine lowers the depth while a loop holds batches, as its tuner and tools may: the loop goes on."""

from __future__ import annotations

import pytest

import millrace
from millrace.feed import run_of

NUMBERS = {
    "source": {"synthetic": {"count": 640, "tensors": {"shape": [1], "dtype": "u32"}}},
    "fields": {"value": {"from": "data", "as": "npy", "dtype": "u32", "shape": [1]}},
    "batch": {"size": 8},
}


@pytest.mark.parametrize("kept", [1, 6])
def test_a_loop_that_holds_more_batches_than_the_new_depth_goes_on(engine, kept):
    with millrace.Feed(NUMBERS, workers=1, depth=12, tune="off") as feed:
        held, positions = [], []
        for batch in feed.numpy():
            held = [*held, batch][-kept:]
            positions += list(batch.positions)
            if len(positions) == 10 * 8:
                # Not by feed.tune, which would not go so low.
                run_of(feed).stream.ask({"tune": {"depth": 1}})
        assert positions == list(range(640))
