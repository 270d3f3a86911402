"""Millrace: training data for PyTorch and JAX, made beside the trainer and handed over without a copy.

import millrace

feed = millrace.Feed("cats.json")
for batch in feed.torch(device="cuda"):
    train(batch["image"], batch["label"])
"""

from . import _build, _queues
from ._build import *  # noqa: F403 - the builder: tar, image, from_torchvision, …
from .batch import Batch, Ragged
from .errors import (
    BudgetError,
    DefinitionError,
    EngineDied,
    EngineError,
    ForkedError,
    MillraceError,
    MissingError,
    SampleError,
    SourceError,
    StateError,
)
from .feed import Feed

__all__ = [
    "Batch",
    "BudgetError",
    "DefinitionError",
    "EngineDied",
    "EngineError",
    "Feed",
    "ForkedError",
    "MillraceError",
    "MissingError",
    "Ragged",
    "SampleError",
    "SourceError",
    "StateError",
]
__all__ += _build.__all__

_queues.ask()
