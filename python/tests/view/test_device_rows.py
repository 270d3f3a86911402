"""Images left to the GPU, up to its door: the ring changes hands, and what it refuses is decoded in place."""

from __future__ import annotations

import numpy as np
import pytest

import millrace
from millrace.feed import run_of

FORM, BYTES, WIDTH, HEIGHT = 0, 1, 2, 3
PIXELS = 3


def definition(**rest):
    return {
        "source": {"synthetic": {"count": 96, "images": {"width": 40, "height": 32, "classes": 7}}},
        "order": {"shuffle": "global", "seed": 5},
        "fields": {
            "image": {"from": "jpg", "as": "image", "apply": [{"randomResizedCrop": 24}, {"flip": {}}]},
            "label": {"from": "cls", "as": "int"},
        },
        "batch": {"size": 8, "last": "keep"},
        **rest,
    }


def taken(feed, block=True):
    return run_of(feed).stream.take(block)


def words(batch, feed):
    count = run_of(feed).stream.client.memory.layout.fields[0].device["words"]
    return batch["image"][:, : count * 4].copy().view("<u4")


def pixels(batch, feed, row):
    """The finished picture of a row of pixels, as chw."""
    head = words(batch, feed)[row]
    assert head[FORM] == PIXELS and head[BYTES] == head[WIDTH] * head[HEIGHT] * 3
    start = head.nbytes
    data = batch["image"][row, start : start + head[BYTES]]
    return data.reshape(head[HEIGHT], head[WIDTH], 3).transpose(2, 0, 1)


def test_the_ring_changes_hands_between_two_batches(engine):
    with millrace.Feed(definition()) as cpu, millrace.Feed(definition()) as other:
        expected = [(batch.ids, batch["label"].tolist(), batch.position) for batch in cpu]
        found = []
        for i in range(len(expected)):
            run_of(other).stream.decode_on(("cpu", "gpu")[i // 3 % 2], None)
            one = taken(other).batch
            found.append((one.ids, one["label"].tolist(), one.position))
            assert (one["image"].shape[1:] == (3, 24, 24)) == (i // 3 % 2 == 0)
        assert found == expected


def test_the_engine_goes_on_to_decode_a_share(engine):
    with millrace.Feed(definition()) as cpu, millrace.Feed(definition()) as feed:
        expected = [batch["image"].copy() for batch in cpu]
        run_of(feed).stream.decode_on("gpu", None, 0.5)
        shares = []
        for images in expected[:4]:
            one = taken(feed).batch
            forms = words(one, feed)[:, FORM]
            shares.append((forms == PIXELS).mean())
            for row in np.flatnonzero(forms == PIXELS):
                assert np.array_equal(pixels(one, feed, row), images[row])
        assert 0.1 < np.mean(shares) < 0.9
        run_of(feed).stream.decode_on("gpu", None, 0.0)
        assert set(words(taken(feed).batch, feed)[:, FORM]) == {1}


def test_what_a_gpu_refuses_is_decoded_in_place(engine):
    with millrace.Feed(definition()) as cpu, millrace.Feed(definition()) as feed:
        run_of(feed).stream.decode_on("gpu", None)
        for images in [batch["image"].copy() for batch in cpu][:3]:
            one = taken(feed)
            assert set(words(one.batch, feed)[:, FORM]) == {1}
            answer = run_of(feed).stream.client.ask(
                {"redo": {"slot": one.slot, "field": "image", "rows": [1, 6]}}
            )
            assert answer["redone"] == [{"row": 1, "ok": True}, {"row": 6, "ok": True}]
            for row in (1, 6):
                assert np.array_equal(pixels(one.batch, feed, row), images[row])
            assert words(one.batch, feed)[0][FORM] == 1  # the others are as they were


def test_only_the_cpu_says_that_a_picture_is_bad(engine):
    with millrace.Feed(definition()) as feed:
        run_of(feed).stream.decode_on("gpu", None)
        one = taken(feed)
        image = one.batch["image"]
        start = words(one.batch, feed).shape[1] * 4
        image[2, start + 200 :] = 0  # damaged behind its header: no GPU was told
        asked = {"redo": {"slot": one.slot, "field": "image", "rows": [2]}}
        (answer,) = run_of(feed).stream.client.ask(asked)["redone"]
        assert answer["row"] == 2 and not answer["ok"] and answer["stage"] == "decode"
        assert answer["id"] == one.batch.ids[2] and "image" in answer["message"]
        assert words(one.batch, feed)[2][FORM] == 0  # nothing: it becomes zeros


def test_a_state_goes_on_in_the_other_mode(engine):
    with millrace.Feed(definition()) as feed:
        rest = [batch.ids for batch in feed]
    with millrace.Feed(definition()) as feed:
        for _, batch in zip(range(5), feed):
            del batch
        state = feed.state_dict()
    with millrace.Feed(definition(), state=state) as feed:
        run_of(feed).stream.decode_on("gpu", None)
        assert [taken(feed).batch.ids for _ in range(3)] == rest[5:8]


@pytest.mark.parametrize("view", ["torch", "jax"])
def test_decode_gpu_needs_a_gpu(engine, caplog, view):
    pytest.importorskip(view)
    with millrace.Feed(definition()) as feed:
        if view == "torch":
            with pytest.raises(millrace.DefinitionError, match='needs device="cuda"'):
                feed.torch(decode="gpu")
        else:
            import jax

            if jax.default_backend() != "cpu":
                pytest.skip("there is a GPU")
            with pytest.raises(millrace.DefinitionError, match="one GPU"):
                feed.jax(decode="gpu")
        with pytest.raises(millrace.DefinitionError, match="decode"):
            getattr(feed, view)(decode="sometimes")
        caplog.set_level("INFO", "millrace")
        getattr(feed, view)()
        assert "decodes" not in caplog.text  # nobody asked
        getattr(feed, view)(decode="auto")
        assert "the CPU decodes images: batches go to" in caplog.text
