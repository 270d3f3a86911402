"""A user's own Python: datasets and functions, through a real engine."""

from __future__ import annotations

import collections
import functools
import os
import random
import threading
from pathlib import Path

import numpy as np
import pytest

import millrace
from millrace._data.functions import function_hash
from millrace._data.payload import without_payloads
from millrace._data.worker_values import Room, pack


class Pairs:
    """A picture and a label, the way PyTorch's datasets have them, with augmentation by global generators."""

    def __init__(self, count=40):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        picture = np.full((3, 4, 4), i, np.float32) + np.random.rand()
        return picture * random.choice([1, 2]), i


class Rich:
    def __len__(self):
        return 20

    def __getitem__(self, i):
        return {
            "image": np.full((5, 6, 3), i, np.uint8),
            "caption": f"sample {i}",
            "score": i / 2,
            "blob": b"x" * i,
        }


Point = collections.namedtuple("Point", "corner label")


class Points:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return Point([i, i + 1], i)


class Lines:
    def __iter__(self):
        for i in range(30):
            yield {"number": i, "drawn": random.random()}


class Unpicklable(Pairs):
    def __init__(self):
        super().__init__()
        self.lock = {"inner": threading.Lock()}


class Bad(Pairs):
    def __getitem__(self, i):
        if i == 13:
            raise ValueError("thirteen")
        return super().__getitem__(i)


def noise(sample, rng):
    return {**sample, "0": sample["0"] + rng.normal(size=sample["0"].shape).astype(np.float32)}


def swap(pair, rng):
    return {"x": pair[0] + float(rng.random()), "y": pair[1] * 2}


def negative(value, rng):
    return -value


def random_lines():
    return ({"number": i} for i in range(10))


def batches(feed, *fields):
    """Copies of the fields of all batches of an epoch, and the ids."""
    return [(list(b.ids), *(np.array(b[name]) for name in fields)) for b in feed.numpy()]


def same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b):
        assert one[0] == other[0]
        for x, y in zip(one[1:], other[1:]):
            np.testing.assert_array_equal(x, y)


def test_tuples_without_a_word_about_fields():
    with millrace.dataset(Pairs()).batch(8).open(workers=2) as feed:
        got = batches(feed, "x", "y")
    assert np.concatenate([y for _, _, y in got]).tolist() == list(range(40))
    for _, x, y in got:
        assert x.dtype == np.float32 and x.shape[1:] == (3, 4, 4)
        low, high = y[:, None, None, None], 2 * (y[:, None, None, None] + 1)
        assert ((x >= low) & (x <= high)).all()


def test_same_for_any_workers_and_another_in_the_next_epoch():
    builder = millrace.dataset(Pairs()).shuffle(seed=3).batch(8)
    with builder.open(workers=1) as feed:
        first, second = batches(feed, "x", "y"), batches(feed, "x", "y")
    assert not np.array_equal(first[0][1], second[0][1])
    with builder.open(workers=3) as feed:
        same(first, batches(feed, "x", "y"))
        same(second, batches(feed, "x", "y"))


def test_resumes_on_other_ranks():
    builder = millrace.dataset(Pairs()).shuffle(seed=3).batch(4, last="keep")
    with builder.open(workers=2) as feed:
        whole = {i: x for ids, xs, _ in batches(feed, "x", "y") for i, x in zip(ids, xs)}
    seen = {}
    with builder.open(workers=1) as feed:
        for step, batch in enumerate(feed.numpy()):
            seen.update(zip(batch.ids, np.array(batch["x"])))
            if step == 2:
                break
        state = feed.state_dict()
    for rank in range(3):
        with builder.open(workers=2, rank=rank, world=3, state=state) as feed:
            for ids, xs, _ in batches(feed, "x", "y"):
                assert not seen.keys() & set(ids)
                seen.update(zip(ids, xs))
    assert seen.keys() == whole.keys()
    for key, value in seen.items():
        np.testing.assert_array_equal(value, whole[key])


def test_dicts_and_fields():
    builder = (
        millrace.dataset(Rich())
        .fields(
            image=millrace.image("image").resize([4, 4]).dtype("u8"),
            caption=millrace.text("caption"),
            score=millrace.float("score").map(negative),
        )
        .batch(5)
    )
    with builder.open(workers=2) as feed:
        for k, batch in enumerate(feed.numpy()):
            rows = range(5 * k, 5 * k + 5)
            assert batch["caption"] == [f"sample {i}" for i in rows]
            assert batch["score"].tolist() == [-i / 2 for i in rows]
            assert batch["image"][:, 0, 0, 0].tolist() == list(rows)


def test_namedtuples_and_names():
    with millrace.dataset(Points()).batch(8).open(workers=1) as feed:
        [(_, corner, label)] = batches(feed, "corner", "label")
    assert corner.tolist() == [[i, i + 1] for i in range(8)] and label.tolist() == list(range(8))
    named = millrace.dataset(Pairs(), columns=["image", "label"]).batch(8)
    assert list(named.json()["fields"]) == ["image", "label"]
    with named.open(workers=1) as feed:
        assert batches(feed, "label")[1][1].tolist() == list(range(8, 16))


def test_lists_and_arrays_are_datasets():
    for obj in ([3, 1, 4, 1, 5], np.array([3, 1, 4, 1, 5])):
        with millrace.dataset(obj).batch(5).open(workers=1) as feed:
            assert batches(feed, "x")[0][1].tolist() == [3, 1, 4, 1, 5]


def test_functions_over_the_sample():
    builder = millrace.dataset(Pairs()).shuffle(seed=1).batch(8)
    with millrace.Feed(builder, map=noise, workers=1) as feed:
        expected = batches(feed, "x", "y")
    with millrace.Feed(builder, map=noise, workers=3) as feed:
        same(expected, batches(feed, "x", "y"))
    with builder.open(workers=1) as feed:
        assert not np.array_equal(batches(feed, "x")[0][1], expected[0][1])


def test_functions_where_the_sample_is_made():
    builder = millrace.dataset(Pairs(), map=swap).shuffle(seed=1).batch(8)
    assert list(builder.json()["fields"]) == ["x", "y"]
    with builder.open(workers=1) as feed:
        expected = batches(feed, "x", "y")
    with builder.open(workers=2) as feed:
        same(expected, batches(feed, "x", "y"))
    assert sorted(np.concatenate([y for *_, y in expected]).tolist()) == list(range(0, 80, 2))


def test_functions_on_other_sources():
    builder = millrace.synthetic(32, images={"width": 8, "height": 8, "classes": 4}).fields(
        label=millrace.int("cls").map(functools.partial(_add, by=100))
    )
    with builder.batch(8).open(workers=2) as feed:
        assert np.concatenate([y for _, y in batches(feed, "label")]).tolist() == [
            100 + i % 4 for i in range(32)
        ]


def _add(value, rng, by):
    return value + by


def test_iterables_in_their_own_order():
    builder = millrace.dataset(Lines(), count=30).batch(8, last="keep")
    with builder.open(workers=2) as feed:
        first = batches(feed, "number", "drawn")
    assert np.concatenate([n for _, n, _ in first]).tolist() == list(range(30))
    with builder.open(workers=1) as feed:
        steps = iter(feed.numpy())
        next(steps)
        state = feed.state_dict()
    with builder.open(workers=1, state=state) as feed:
        same(first[1:], batches(feed, "number", "drawn"))
    with pytest.raises(millrace.MillraceError, match="is an iterable"):
        millrace.dataset(Lines(), count=30).shuffle(seed=1).batch(8).open()


def test_functions_that_make_an_iterable():
    with millrace.dataset(random_lines, count=10).batch(5).open(workers=1) as feed:
        for _ in range(2):
            assert [n.tolist() for _, n in batches(feed, "number")] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_errors_of_the_users_code():
    with millrace.dataset(Bad()).batch(8).open(workers=2) as feed:
        with pytest.raises(millrace.MillraceError, match=r"sample 13: .*ValueError: thirteen"):
            batches(feed, "y")
    with millrace.dataset(Bad()).batch(8).on_error("drop").open(workers=2) as feed:
        assert 13 not in np.concatenate([y for _, y in batches(feed, "y")])


@pytest.mark.parametrize(
    "obj, message",
    [
        ({"a": 1}, "a dict is not"),
        (iter([1, 2]), "used up after one epoch"),
        (Lines(), "how many samples"),
        (7, "has neither"),
        ([], "empty"),
    ],
)
def test_what_is_no_dataset(obj, message):
    with pytest.raises((TypeError, ValueError), match=message):
        millrace.dataset(obj)


def test_what_cannot_be_pickled_is_named():
    with pytest.raises(millrace.DefinitionError, match=r"Unpicklable.*\.lock\['inner'\], of type lock"):
        millrace.dataset(Unpicklable())


def test_hash_of_a_function_is_that_of_its_text():
    assert function_hash(noise) == function_hash(noise) != function_hash(negative)
    assert function_hash(functools.partial(_add, by=1)) != function_hash(functools.partial(_add, by=2))


def test_requests_of_two_processes_are_told_to_be_the_same():
    a, b = (millrace.dataset(Pairs()).batch(8).json() for _ in range(2))
    assert a != b and without_payloads(a) == without_payloads(b)


def test_payloads_live_as_long_as_the_definition():
    json = millrace.dataset(Pairs()).batch(8).json()
    path = str(json["source"]["python"]["payload"])
    assert os.path.exists(path)
    with millrace.Feed(json, workers=1, allow_code=True) as feed:
        assert len(batches(feed, "y")) == 5
    del json, feed
    assert not os.path.exists(path)


def test_torch_dataset_with_torchvision():
    torch = pytest.importorskip("torch")
    datasets = pytest.importorskip("torchvision.datasets")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(16),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    builder = millrace.dataset(datasets.FakeData(24, (3, 32, 32), 10, transform)).shuffle(seed=1).batch(8)
    with builder.open(workers=1) as feed:
        expected = [x.clone() for x, _ in feed.torch(tuple=("x", "y"))]
    with builder.open(workers=2) as feed:
        for x, other in zip(feed.torch(tuple=("x", "y")), expected):
            assert torch.equal(x[0], other)
    assert expected[0].shape == (8, 3, 16, 16) and len(expected) == 3


class Holds:
    def __init__(self):
        self.file = open(__file__)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return {"thing": object()}


def test_what_cant_be_sent_and_what_cant_be_guessed_is_named():
    with pytest.raises(millrace.DefinitionError, match=r"^Holds\.file, of type TextIOWrapper, can't be sent"):
        millrace.dataset(Holds())
    with pytest.raises(TypeError, match='^column "thing" holds a value of type object, for which no field'):
        millrace.dataset(Things()).batch(2).open()


class Things(Holds):
    def __init__(self):
        pass


def test_a_path_that_is_bytes_becomes_text():
    class BytesPath:
        def __fspath__(self):
            return b"a/b.jpg"

    assert pack(BytesPath(), Room(None, (0, 0))) == pack(Path("a/b.jpg"), Room(None, (0, 0))) == "a/b.jpg"
