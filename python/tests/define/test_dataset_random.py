"""Generators that a user's own Python draws from: seeded for each sample, wherever they are held."""

from __future__ import annotations

import functools
import os
import random
import time
import warnings

import numpy as np
import pytest

import millrace
from millrace._data.worker_random import Seeds, seed

MODULE = np.random.default_rng(0)


def drawn_from_module():
    return MODULE.random()


class Holder:
    __slots__ = ("state",)

    def __init__(self):
        self.state = np.random.RandomState(3)


class Draws:
    """Each column is drawn from a generator that is held in another way."""

    in_class = random.Random(0)

    def __init__(self):
        self.generator = np.random.default_rng(0)
        self.shared = self.generator
        self.nested = {"transforms": [Holder(), functools.partial(max, 0)]}
        self.draw = np.random.Generator(np.random.MT19937(5)).random
        self.python = random.Random(0)
        self.lazy = None

    def __len__(self):
        return 40

    def __getitem__(self, i):
        if self.lazy is None:
            self.lazy = np.random.default_rng(0)
        return {
            "number": i,
            "generator": self.generator.random(),
            "shared": self.shared.random(),
            "nested": self.nested["transforms"][0].state.rand(),
            "method": self.draw(),
            "python": self.python.random(),
            "class": self.in_class.random(),
            "module": drawn_from_module(),
            "lazy": self.lazy.random(),
            "global": random.random() + np.random.rand(),
        }


def epochs(builder, count=2, **options):
    """Rows of all fields by the sample's number, for each epoch."""
    with builder.open(**options) as feed:
        return [rows(feed) for _ in range(count)]


def rows(feed):
    found = {}
    for batch in feed.numpy():
        columns = {name: np.array(batch[name]) for name in batch}
        for k in range(len(batch.ids)):
            found[int(columns["number"][k])] = {name: values[k].tolist() for name, values in columns.items()}
    return found


def check(builder, workers=(2,), ranks=1):
    """No two draws are alike; workers, ranks and a resume change nothing."""
    expected = epochs(builder, workers=1)
    for name in next(iter(expected[0].values())):
        if name != "number":
            values = [str(row[name]) for epoch in expected for row in epoch.values()]
            assert len(set(values)) == len(values), name
    for count in workers:
        assert epochs(builder, workers=count) == expected
    with builder.open(workers=1) as feed:
        steps = iter(feed.numpy())
        next(steps), next(steps)
        state = feed.state_dict()
    rest = {}
    for rank in range(ranks):
        [part] = epochs(builder, 1, workers=1, rank=rank, world=ranks, state=state)
        rest.update(part)
    assert len(rest) == len(expected[0]) - 8
    assert rest == {number: expected[0][number] for number in rest}


def test_any_workers_and_ranks_draw_the_same():
    check(millrace.dataset(Draws()).shuffle(seed=3).batch(4), workers=(2, 5), ranks=2)


class Tensors:
    def __init__(self, torch):
        self.generator = torch.Generator()

    def __len__(self):
        return 20

    def __getitem__(self, i):
        import torch

        own = torch.rand(2, generator=self.generator)
        return {"number": i, "own": own, "default": torch.rand(2)}


def test_generators_of_torch():
    torch = pytest.importorskip("torch")
    builder = millrace.dataset(Tensors(torch)).shuffle(seed=1).batch(4)
    check(builder)


class Augmented:
    def __init__(self, albumentations):
        self.augment = albumentations.Compose(
            [
                albumentations.OneOf([albumentations.GaussNoise(p=1), albumentations.ISONoise(p=1)], p=1),
                albumentations.RandomCrop(8, 8),
                albumentations.RandomBrightnessContrast(p=1),
            ]
        )

    def __len__(self):
        return 24

    def __getitem__(self, i):
        picture = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
        return {"number": i, "picture": self.augment(image=picture)["image"]}


def test_albumentations():
    builder = millrace.dataset(Augmented(pytest.importorskip("albumentations"))).shuffle(seed=1).batch(4)
    check(builder)


class Epochs:
    """Makes its generator anew for every epoch."""

    def __len__(self):
        return 12

    def set_epoch(self, epoch):
        self.generator = np.random.default_rng(epoch)

    def __getitem__(self, i):
        return {"number": i, "drawn": self.generator.random()}


def test_generators_that_an_epoch_makes():
    names = ["number", "drawn"]
    builder = (
        millrace.dataset(Epochs(), columns=names)
        .fields(number=millrace.int("number"), drawn=millrace.float("drawn"))
        .shuffle(seed=1)
        .batch(4)
    )
    check(builder)


class Noise:
    def __init__(self):
        self.generator = np.random.default_rng(0)

    def __call__(self, value, rng):
        return value + self.generator.random()


def test_generators_of_functions():
    builder = (
        millrace.dataset(list(range(20)), columns=["i"])
        .fields(number=millrace.int("i"), noisy=millrace.float("i").map(Noise()))
        .shuffle(seed=1)
        .batch(4)
    )
    check(builder)


class Clock:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return {"number": i, "drawn": os.urandom(8)}


class Slow(Clock):
    made = 0

    def __getitem__(self, i):
        Slow.made += 1
        time.sleep(1.1)
        return {"number": Slow.made}


def test_a_sample_that_differs_is_told():
    with pytest.warns(UserWarning, match="Clock: sample 0 was made twice .* its 'drawn' differs"):
        millrace.dataset(Clock())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        millrace.dataset(Draws())
        millrace.dataset(Slow())
    assert Slow.made == 1


def test_the_users_own_generators_stay_where_they_are():
    dataset = Draws()
    random.seed(1), np.random.seed(1)
    expected = random.random(), np.random.rand(), Draws().generator.random()
    random.seed(1), np.random.seed(1)
    millrace.dataset(dataset)
    assert (random.random(), np.random.rand(), dataset.generator.random()) == expected


def test_generators_are_found_within_bounds():
    class Large:
        def __init__(self):
            self.samples = [(str(i), i) for i in range(200_000)]
            self.loop = [self]
            self.held = {"rng": random.Random(0)}
            self.outside = random.random  # the global one, which has its own seed

    dataset = Large()
    seeds = Seeds(dataset)
    seeds(7)
    first = dataset.held["rng"].random(), random.random()
    seeds(7)
    assert (dataset.held["rng"].random(), random.random()) == first
    seed(7)
    assert random.random() == first[1]
