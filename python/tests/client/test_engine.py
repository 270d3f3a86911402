"""The real engine: Python gets what Node gets, byte by byte, and each resumes what the other began."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
from conftest import HERE
from patience import PATIENCE, wait_until

import millrace
from millrace._client.node import engine_command
from millrace.batch import about_of
from millrace.feed import run_of

pytestmark = pytest.mark.usefixtures("engine")

PICTURES = {
    "source": {"synthetic": {"count": 50, "images": {"width": 40, "height": 30, "classes": 7}}},
    "order": {"shuffle": "global", "seed": 3},
    "fields": {
        "image": {
            "from": "jpg",
            "as": "image",
            "apply": [{"randomResizedCrop": 24}, {"flip": {}}, {"normalize": "imagenet"}],
            "dtype": "f32",
            "layout": "chw",
        },
        "small": {
            "from": "jpg",
            "as": "image",
            "apply": [{"resize": [8, 8]}],
            "dtype": "bf16",
            "layout": "hwc",
        },
        "label": {"from": "cls", "as": "int"},
    },
    "batch": {"size": 8, "last": "keep"},
}
NUMBERS = {
    "source": {"synthetic": {"count": 37, "tensors": {"shape": [3], "dtype": "u32"}}},
    "order": {"shuffle": "global", "seed": 1},
    "fields": {"ragged": {"from": "data", "as": "bytes", "ragged": {"max": 64}}},
    "batch": {"size": 5, "last": "pad"},
}


def node(feed: Dict[str, Any], options: Dict[str, Any], **more: Any) -> List[Dict[str, Any]]:
    """What Node's iterator gives."""
    asked = json.dumps({"feed": feed, "options": {"workers": 1, **options}, **more})
    line = [engine_command()[0], str(HERE / "digests.mjs"), asked]
    return json.loads(
        subprocess.run(line, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    )


def digest(value: Any) -> str:
    if isinstance(value, list):
        told, parts = (
            [len("".join(value).encode())],
            [json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()],
        )
    elif isinstance(value, millrace.Ragged):
        told, parts = list(value.values.shape), [value.values.tobytes(), value.offsets.tobytes()]
    else:
        told, parts = list(value.shape), [np.ascontiguousarray(value).tobytes()]
    hash = hashlib.sha256(json.dumps(told, separators=(",", ":")).encode())
    for part in parts:
        hash.update(part)
    return hash.hexdigest()


def shown(feed: millrace.Feed, batch: millrace.Batch) -> Dict[str, Any]:
    return {
        "fields": {name: digest(value) for name, value in batch.items() if name != "valid"},
        "epoch": batch.epoch,
        "position": batch.position,
        "count": batch.count,
        "ids": batch.ids,
        "positions": batch.positions.tolist(),
        "state": feed.state_dict(),
    }


@pytest.mark.parametrize("definition", [PICTURES, NUMBERS], ids=["pictures", "numbers"])
def test_the_same_bytes_as_node(definition):
    expected = node(definition, {}, loops=2)
    with millrace.Feed(definition, workers=1) as feed:
        got = [shown(feed, batch) for _ in range(2) for batch in feed]
    assert got == expected


def test_a_blend_has_the_same_names_and_weights():
    blend = {
        "source": {
            "blend": {
                "entries": [
                    {
                        "source": {"synthetic": {"count": 20, "seed": s, "tensors": {"shape": [2]}}},
                        "weight": s,
                        "name": n,
                    }
                    for s, n in ((1, "one"), (3, "three"))
                ],
                "epoch": 40,
            }
        },
        "order": {"shuffle": "global", "seed": 5},
        "fields": {"data": {"from": "data", "as": "bytes", "ragged": {"max": 16}}},
        "batch": {"size": 4, "last": "keep"},
    }
    with millrace.Feed(blend, workers=1) as feed:
        assert [b.ids for b in feed] == [b["ids"] for b in node(blend, {})]
        for i, batch in enumerate(feed):
            if i == 2:
                feed.set_weights({"one": 1, "three": 0})
                state = feed.state_dict()
            if i > 2:
                assert all(name.startswith("one/") for name in batch.ids)
        assert "changes" in state
        feed.load_state_dict(state)
        rest = [b.ids for b in feed]
    assert rest == [b["ids"] for b in node(blend, {"state": state})]


def test_changed_weights_do_not_make_the_state_grow():
    entries = [
        {"source": {"synthetic": {"count": 60 + i, "tensors": {"shape": [1]}}}, "weight": 1, "name": f"s{i}"}
        for i in range(10)
    ]
    blend = {
        "source": {"blend": {"entries": entries, "epoch": 400}},
        "order": {"shuffle": "global", "seed": 3},
        "fields": {"number": {"from": "data", "as": "bytes", "ragged": {"max": 16}}},
        "batch": {"size": 4, "last": "keep"},
    }

    def run(feed, steps):
        found, states, kept = [], [], None
        for batch in feed:
            found.append(batch.ids)
            kept = kept or batch
            step = len(steps) - len(found)
            feed.set_weights([1 / (1 + (i * 7 + step) % 13) for i in range(10)])
            feed.set_weights({"s0": 1 / (1 + step % 13)})  # as it is
            states.append(feed.state_dict())
            assert len(json.dumps(states[-1])) < 1024 + 24 * 10
        if len(found) <= 30:
            about_of(kept).names = None
            assert kept.ids == found[0]  # a batch of before the changes knows its samples
        return found, states

    with millrace.Feed(blend, workers=1) as feed:
        whole, states = run(feed, range(100))
    with millrace.Feed(blend, workers=1, state=states[69]) as feed:
        rest, others = run(feed, range(30))
        assert rest == whole[70:] and others == states[70:]
        feed.load_state_dict(states[89])
        feed.set_weights({"s0": 0})  # after what the loaded state says
        loaded = feed.state_dict()["changes"]
        assert loaded[-1]["weights"] == [0, *states[89]["changes"][-1]["weights"][1:]]
        assert loaded[-1]["drawn"] == states[89]["changes"][-1]["drawn"]


def test_changed_weights_are_known_where_the_last_batch_is_filled():
    entries = [
        {"source": {"synthetic": {"count": n, "tensors": {"shape": [1]}}}, "weight": 1, "name": f"s{n}"}
        for n in (60, 100)
    ]
    padded = {
        "source": {"blend": {"entries": entries, "epoch": 96}},
        "order": {"shuffle": "global", "seed": 3},
        "fields": {"number": {"from": "data", "as": "bytes", "ragged": {"max": 16}}},
        "batch": {"size": 2, "last": "pad"},
    }

    def rows(batch):
        return [bytes(row) for row in batch["number"]]

    with millrace.Feed(padded, workers=1, rank=0, world=50) as feed:
        first = rows(next(iter(feed)))
    with millrace.Feed(padded, workers=1) as feed:
        for step, _ in enumerate(feed):
            feed.set_weights([1, 1 + step])  # more often than an engine remembers for names of samples
            state = feed.state_dict()
            if step == 40:
                break
    # With 50 ranks the rest is one step: rank 7 has its last samples, rank 8 begins with fillers.
    with millrace.Feed(padded, workers=1, rank=7, world=50, state=state) as feed:
        filled = [(rows(batch), list(batch.valid)) for batch in feed]
    assert filled == [(first, [0, 0])]


def test_node_resumes_python_and_python_resumes_node():
    whole = [batch["ids"] for batch in node(PICTURES, {})]
    with millrace.Feed(PICTURES, workers=1) as feed:
        for i, _ in enumerate(feed):
            if i == 2:
                break
        state = feed.state_dict()
    assert [batch["ids"] for batch in node(PICTURES, {"state": state})] == whole[3:]
    state = node(PICTURES, {}, stop=4)[-1]["state"]
    with millrace.Feed(PICTURES, workers=1, state=state) as feed:
        assert [batch.ids for batch in feed] == whole[4:]


def test_batches_by_tokens_have_their_own_steps_in_each_epoch(tmp_path):
    lines = [json.dumps({"text": "x" * (1 + i * 7919 % 60)}) for i in range(300)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    bins: Dict[str, Any] = {
        "source": {"jsonl": str(tmp_path / "a.jsonl")},
        "order": {"shuffle": "global", "seed": 3, "group": {"batches": 4}},
        "fields": {"text": {"from": "text", "as": "bytes", "pad": {"to": "longest", "max": 64}}},
        "batch": {"tokens": 256, "last": "keep"},
    }
    expected = node(bins, {}, loops=4)
    epochs = [sum(batch["epoch"] == epoch for batch in expected) for epoch in range(4)]
    assert len(set(epochs)) > 1
    with millrace.Feed(bins, workers=1) as feed:
        got = []
        for epoch in range(4):
            assert len(feed) == epochs[epoch]
            got += [shown(feed, batch) for batch in feed]
        assert got == expected
        # A state in the middle, and one from which nothing of its epoch is left.
        feed.load_state_dict(expected[5]["state"])
        assert [batch.ids for batch in feed] == [batch["ids"] for batch in expected[6 : epochs[0]]]
        feed.load_state_dict({**expected[5]["state"], "position": epochs[0]})
        assert feed.epoch == 1
        assert next(iter(feed)).ids == expected[epochs[0]]["ids"]
    with millrace.Feed(bins, workers=1, tokens=1000) as feed:
        assert len(list(feed)) == 4
    with millrace.Feed(bins, workers=1, epochs=3) as feed:
        assert len(feed) == sum(epochs[:3])
        assert [batch.ids for batch in feed] == [batch["ids"] for batch in expected[: sum(epochs[:3])]]


def test_numpy_torch_and_jax_agree():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    with millrace.Feed(PICTURES, workers=1) as feed:
        state = feed.state_dict()
        plain = [{name: np.array(value) for name, value in batch.items()} for batch in feed.numpy()]
        feed.load_state_dict(state)
        for expected, batch in zip(plain, feed.torch()):
            assert batch["small"].dtype == torch.bfloat16
            for name in ("image", "label"):
                assert batch[name].numpy().tobytes() == expected[name].tobytes()
            assert batch["small"].view(torch.int16).numpy().tobytes() == expected["small"].tobytes()
        feed.load_state_dict(state)
        for expected, batch in zip(plain, feed.jax()):
            assert isinstance(batch["image"], jax.Array)
            assert np.asarray(batch["image"]).tobytes() == expected["image"].tobytes()
            assert np.asarray(batch["label"]).tolist() == expected["label"].tolist()


def test_errors_keep_their_kind(tmp_path):
    with pytest.raises(millrace.DefinitionError, match="size"):
        millrace.Feed({**PICTURES, "batch": {"size": -1}})
    with pytest.raises(millrace.SourceError):
        millrace.Feed({**PICTURES, "source": {"tar": str(tmp_path / "nothing-{0..1}.tar")}})
    with millrace.Feed(PICTURES, workers=1) as feed:
        other = {**PICTURES, "order": {"shuffle": "global", "seed": 4}}
        with millrace.Feed(other, workers=1) as another, pytest.raises(millrace.StateError, match="seed"):
            another.load_state_dict(feed.state_dict())


def test_names_with_control_characters_are_escaped(tmp_path):
    (tmp_path / "a\x1b[2J.jpg").write_bytes(b"no picture")
    definition = {
        "source": {"files": str(tmp_path / "*.jpg")},
        "fields": {"image": {"from": "jpg", "as": "image", "apply": [{"resize": [4, 4]}]}},
        "batch": 1,
    }
    with millrace.Feed(definition) as feed, pytest.raises(millrace.SampleError) as caught:
        next(iter(feed))
    assert "a\\x1b[2J" in str(caught.value) and "\x1b" not in str(caught.value)


def test_obvious_mistakes_are_told_in_a_sentence():
    with pytest.raises(
        millrace.StateError, match=r"the dict that state_dict\(\) gave, not str: read its file"
    ):
        millrace.Feed(PICTURES, state="state.json")
    with millrace.Feed(PICTURES) as feed:
        batch = next(iter(feed.numpy()))
        with pytest.raises(KeyError, match="the batch has no field 'img'; it has image, small, "):
            batch["img"]
        assert batch.get("img", 7) == 7


def test_a_path_a_variant_and_a_module(tmp_path):
    (tmp_path / "cats.json").write_text(json.dumps({**PICTURES, "variants": {"val": {"order": "none"}}}))
    with millrace.Feed(tmp_path / "cats.json", workers=1) as feed:
        shuffled = next(iter(feed)).ids
    with millrace.Feed(f"{tmp_path}/cats.json#val", workers=1) as feed:
        assert feed.name == "cats.json#val"
        assert next(iter(feed)).ids == [str(i) for i in range(8)] != shuffled
    (tmp_path / "cats.feed.mjs").write_text(f"export default {json.dumps(PICTURES)}")
    with millrace.Feed(tmp_path / "cats.feed.mjs", workers=1) as feed:
        assert next(iter(feed)).ids == shuffled


def test_bad_samples_are_named(tmp_path):
    for i in range(6):
        folder = tmp_path / "photos" / "abc"[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.jpg").write_bytes(b"no picture")
    definition = {
        "source": {"folder": "photos"},
        "order": "none",
        "fields": {"image": {"from": "image", "as": "image", "apply": [{"resize": [8, 8]}]}},
        "batch": 2,
    }
    (tmp_path / "feed.json").write_text(json.dumps(definition))
    with millrace.Feed(tmp_path / "feed.json", workers=1) as feed:
        with pytest.raises(millrace.SampleError, match=r"\.jpg"):
            next(iter(feed))


def test_channels_last_goes_for_host_memory_too():
    torch = pytest.importorskip("torch")
    with millrace.Feed(PICTURES, workers=1) as feed:
        plain = next(iter(feed.torch()))["image"].clone()
    with millrace.Feed(PICTURES, workers=1) as feed:
        batch = next(iter(feed.torch(channels_last=True)))
        assert batch["image"].is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(batch["image"], plain) and batch["label"].is_contiguous()


def test_show_writes_a_picture(tmp_path, capsys):
    with millrace.Feed(PICTURES, workers=1) as feed:
        before = feed.state_dict()
        path = feed.show(count=4, path=str(tmp_path / "batch.png"))
        assert feed.state_dict() == before
        assert (tmp_path / "batch.png").read_bytes().startswith(b"\x89PNG")
        assert "label" in capsys.readouterr().out and path
        assert [b.position for b in feed][0] == 0


def test_stats_and_what_it_is(caplog):
    with millrace.Feed(PICTURES, workers=1) as feed, caplog.at_level("INFO", "millrace"):
        list(feed)
        stats = feed.stats()
        assert stats["samples"] == 50 and stats["workers"] == 1 and stats["decoders"]["jpeg"]
        assert "image f32[8, 3, 24, 24]" in repr(feed)
        assert re.search(r"epoch 0: 7 steps, .*lost", caplog.text)


def test_what_is_left_out_is_told_once_where_no_logging_is_set_up(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger("millrace"), "propagate", False)
    for name in ("cat/1.txt", "dog/2.txt", "outside.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    feed = millrace.folder(tmp_path, extensions=[".txt"]).fields(label=millrace.int("label")).batch(1)
    with feed.open(workers=1) as loader:
        run_of(loader).stream.connect(loader.state_dict())  # as after the death of an engine
    assert capfd.readouterr().err.count("1 picture in no class folder (such as outside.txt) left out") == 1


def test_what_was_in_flight_is_named(caplog):
    slow = {
        **PICTURES,
        "source": {"synthetic": {"count": 120, "images": {"width": 1200, "height": 900}}},
        "batch": {"size": 8, "last": "keep"},
    }
    with millrace.Feed(slow, workers=1, depth=14) as feed, caplog.at_level("WARNING", "millrace"):
        seen = []
        for batch in feed:
            seen += batch.ids
            if len(seen) == 8:
                time.sleep(0.05)
                os.kill(run_of(feed).stream.client.engine.pid, signal.SIGKILL)  # while it makes the next ones
        assert sorted(seen, key=int) == [str(i) for i in range(120)]
    said = re.search(r"In flight: (\S+?)[,.\n]?$", caplog.records[0].getMessage().split("\n")[0])
    assert said and said.group(1) in seen[8:]


def test_a_feed_that_is_closed_leaves_no_memory_in_the_engine():
    def rings() -> int:
        return (
            Path(f"/proc/{run_of(train).stream.client.engine.pid}/maps").read_text().count("memfd:millrace")
        )

    with millrace.Feed(PICTURES, epochs=None, workers=2) as train:
        batches = iter(train)
        next(batches)
        alone = rings()
        for _ in range(3):
            with millrace.Feed(NUMBERS, workers=2) as other:
                kept = list(other)
                assert rings() > alone
            assert wait_until(lambda: rings() == alone)
            assert kept[0]["ragged"].values.any()  # it is ours as long as we want
        next(batches)


def test_a_timeout_may_be_infinite_but_is_a_number():
    with millrace.Feed(NUMBERS, timeout=float("inf")) as feed:
        assert len(list(feed)) == 8
    for timeout in (float("nan"), 0, "5"):
        with pytest.raises(millrace.DefinitionError, match=r"nan|options\.timeout"):
            millrace.Feed(NUMBERS, timeout=timeout)
