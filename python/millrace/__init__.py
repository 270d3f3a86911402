"""Millrace: training data for PyTorch and JAX, made beside the trainer and handed over without a copy.

import millrace

feed = millrace.Feed("cats.json")
for batch in feed.torch(device="cuda"):
    train(batch["image"], batch["label"])
"""

from typing import Any as _Any

from ._cuda import queues as _queues
from ._define import public as _public
from ._define.public import *  # noqa: F403 - the builder: tar, image, from_torchvision, …
from ._open.names import hint as _hint
from ._spans.attach import span_writers, spans
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
    "span_writers",
    "spans",
]
__all__ += _public.__all__

_queues.ask()


def __getattr__(name: str) -> _Any:
    """Only called for names that aren't there: says which is nearest."""
    if name == "__version__":
        return _version()
    # Those with an underscore are probes of Python and its tools.
    told = "" if name.startswith("_") else f"; {_hint(name, __all__)}"
    raise AttributeError(f"module 'millrace' has no attribute '{name}'{told}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("millrace-feed")
    except PackageNotFoundError:
        return "0+checkout"
