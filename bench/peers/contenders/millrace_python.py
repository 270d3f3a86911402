"""Millrace through its Python client: batches in shared memory, made by an engine beside this process."""

from feed import definition
from millrace import Feed

TITLE = "Millrace"
PACKAGES = ("numpy",)


def variants(cores):
    return [{"workers": n} for n in sorted({1, cores})]


def prepare(data):
    """`millrace pack` wrote the shards that the pictures come from."""


def batches(data, workers):
    for batch in Feed(definition(data), workers=workers, epochs=None).numpy():
        yield batch["image"]
