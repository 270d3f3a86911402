"""SPDL: a subprocess writes arrays into a rotating pool of shared-memory segments, read in place."""

from functools import partial

import numpy as np
from spdl.pipeline import SharedMemorySegmentPool, iterate_in_subprocess

TITLE = "SPDL shared-memory arena"
PACKAGES = ("spdl",)
PLACES = 4096
SEGMENTS = 8


def rows(size):
    pool = np.random.default_rng(1).integers(0, 256, size + PLACES, dtype=np.uint8)
    at = 0
    while True:
        yield pool[at : at + size]
        at = (at + 1) % PLACES


def arrays(size):
    arena = SharedMemorySegmentPool(segment_size=size + 4096, count=SEGMENTS)
    yield from iterate_in_subprocess(partial(rows, size), buffer_size=4, arena=arena)
