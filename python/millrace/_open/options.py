"""Refuses unknown options, and names the nearest one, or what serves in place of another loader's option."""

from __future__ import annotations

import functools
import inspect
import logging
from typing import Any, Callable, Dict, Iterable, TypeVar

from .._generated.options import REMOVED
from .names import hint

F = TypeVar("F", bound=Callable[..., Any])

_SHUFFLE = "the feed says the order: .shuffle(seed=7) before .batch(…), .sequential() for none"
_RANKS = "give rank= and world=, or nothing: under torchrun, Slurm and others they are found"

#: Options of PyTorch's DataLoader, its samplers, tf.data, DALI and others, and what serves here.
ELSEWHERE: Dict[str, str] = {
    "batch": 'the feed says it: .batch(256), or "batch" of the definition',
    "batch_sampler": "the feed says the order (.shuffle, .weighted) and the size (.batch(256))",
    "batch_size": "the feed says it: .batch(256)",
    "buffer_size": "the feed says the order: .shuffle(seed=7), or .shuffle(seed=7, window=10_000)",
    "collate_fn": "batches are made in place; values of varying length are .ragged(…) or .pad(…), and "
    "batch_map=fn gets every finished batch",
    "dataset": "give it first: millrace.dataset(obj).batch(256).open()",
    "device": 'the loop says it: feed.open().torch(device="cuda")',
    "drop_last": 'the feed says it: .batch(256, last="drop"), or last="keep"',
    "generator": "the feed has the seed: .shuffle(seed=7); every random choice follows from it",
    "in_order": "batches always come in order",
    "multiprocessing_context": "leave it out: the engine is a process of its own, and forks nothing here",
    "num_epochs": "it is called epochs",
    "num_parallel_calls": "it is called workers",
    "num_replicas": _RANKS,
    "num_shards": _RANKS,
    "num_threads": "it is called workers",
    "num_workers": "it is called workers",
    "persistent_workers": "leave it out: workers live as long as the feed",
    "pin_memory": 'leave it out: .torch(device="cuda") reads page-locked memory by itself',
    "pin_memory_device": 'leave it out: .torch(device="cuda") reads page-locked memory by itself',
    "prefetch": 'batches made ahead are depth=…; batches ahead on a GPU .torch(device="cuda", prefetch=…)',
    "prefetch_factor": "it is called depth: batches made ahead by all workers together",
    "prefetch_queue_depth": "it is called depth",
    "sampler": "the feed says the order: .shuffle(seed=7), .weighted(…), or a subset of the source",
    "seed": "the feed has the seed: .shuffle(seed=7)",
    "shard_id": _RANKS,
    "shuffle": _SHUFFLE,
    "transform": "fields have operators: millrace.image(…).random_resized_crop(224), or "
    "millrace.from_torchvision(transform, …); a function of yours is map=fn",
    "transforms": "fields have operators: millrace.image(…).random_resized_crop(224), or "
    "millrace.from_torchvision(transform, …); a function of yours is map=fn",
    "worker_count": "it is called workers",
    "worker_init_fn": "leave it out: random generators are seeded for every sample; open files when they are "
    "first used",
    "world_size": "it is called world",
}

#: The same words where the size of a batch is said.
_IN_BATCH: Dict[str, str] = {
    "batch_size": "it is called size: .batch(256)",
    "collate_fn": ELSEWHERE["collate_fn"].replace("batch_map=fn", "open(batch_map=fn)"),
    "drop_last": 'it is called last: .batch(256, last="drop"), or last="keep"',
    "global": "it is called global_, since global is a word of Python's",
    "shuffle": "that is a call of its own: .shuffle(seed=7).batch(256)",
}
_IN_SHUFFLE: Dict[str, str] = {
    "buffer_size": "it is called window, or leave it out: a global shuffle costs no memory",
    "generator": "it is called seed",
}
_BY_FUNCTION = {"batch": _IN_BATCH, "shuffle": _IN_SHUFFLE}


def refuse_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """A TypeError for the first name that ``what`` does not take, with what to write instead."""
    known = list(known)
    for name in given:
        if name in known:
            continue
        elsewhere = {**ELSEWHERE, **_BY_FUNCTION.get(what, {})}
        raise TypeError(f'{what} has no option "{name}": {elsewhere.get(name) or hint(name, known)}')


def named(fn: F) -> F:
    """Has a function say what is wrong with the name of an option."""
    known = [
        name
        for name, parameter in inspect.signature(fn).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    what = "Feed" if fn.__name__ == "__init__" else fn.__name__
    taker = "open" if what == "Feed" else what

    @functools.wraps(fn)
    def checked(*args: Any, **options: Any) -> Any:
        gone = {name: REMOVED[key] for name in options if (key := f"{taker}.{name}") in REMOVED}
        for name, told in gone.items():
            logging.getLogger("millrace").warning("%s has no effect any more: %s", name, told)
        options = {name: value for name, value in options.items() if name not in gone}
        refuse_names(what, options, known)
        return fn(*args, **options)

    return checked  # type: ignore[return-value]
