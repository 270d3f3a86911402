"""Millrace: the engine copies a row from memory into a slot, Python sees the slot."""

import numpy as np
from millrace import Feed

TITLE = "Millrace"
PACKAGES = ("numpy",)
# Where a slot's header keeps the moment of completion (docs/protocol.md): CLOCK_MONOTONIC in seconds.
COMPLETED_AT = 248


def arrays(size):
    definition = {
        "source": {"synthetic": {"count": 1000, "tensors": {"shape": [size], "dtype": "u8"}}},
        "order": "none",
        "fields": {"data": {"from": "data", "as": "npy", "shape": [size], "dtype": "u8"}},
        "batch": {"size": 1},
    }
    for batch in Feed(definition, workers=1, epochs=None).numpy():
        yield batch["data"]


def completed(array):
    """When the batch was complete, by the clock that all processes share."""
    return float(np.frombuffer(array.base, "<f8", 1, COMPLETED_AT)[0])
