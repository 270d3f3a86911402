"""Every error Millrace raises on purpose. The engine's errors keep their kind on the way to Python."""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Sequence


class MillraceError(Exception):
    """The common ancestor: ``except millrace.MillraceError`` catches all of them."""


class DefinitionError(MillraceError, ValueError):
    """The definition of the feed, or an option, is wrong. The message points into it."""


class SourceError(MillraceError, OSError):
    """A source can't be opened or read as a whole: a missing shard, a torn index."""


class SampleError(MillraceError):
    """A sample is bad and ``onError`` doesn't allow it. The message names file, offset, field and stage."""


class StateError(MillraceError, ValueError):
    """A saved state does not fit this feed. The message says what differs."""


class BudgetError(MillraceError, MemoryError):
    """A limit of the machine or of the budget is in the way."""


class EngineError(MillraceError, RuntimeError):
    """The engine failed: a sample that hangs, a worker that can't be kept alive."""


class MissingError(MillraceError, ImportError):
    """Something that this feed needs is not installed. The message says what to type."""


class ForkedError(MillraceError, RuntimeError):
    """A feed was used in a forked child of the process that opened it."""


class EngineDied(EngineError):
    """The engine's process is gone, or was stopped.

    ``last_words`` is the end of its standard error; ``in_flight`` names the samples that were being made.
    """

    def __init__(self, message: str, last_words: str = "", in_flight: Sequence[str] = ()) -> None:
        self.last_words = last_words
        self.in_flight = list(in_flight)
        parts = [message]
        if self.in_flight:
            parts.append("In flight: " + ", ".join(self.in_flight))
        if last_words:
            parts.append("Its last words:\n" + last_words)
        super().__init__("\n".join(parts))


#: The engine's tags (packages/core/basics/errors.ts).
#: ``Changed``: a file is no longer the one that was indexed.
_BY_TAG = {
    "Definition": DefinitionError,
    "Source": SourceError,
    "Changed": SourceError,
    "Sample": SampleError,
    "State": StateError,
    "Budget": BudgetError,
    "Engine": EngineError,
    "Missing": MissingError,
}


#: Characters that would do something to a terminal instead of being seen; lines and tabs may be there.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A text as it can be printed: names of files and classes may have characters that can't be seen."""
    return _UNSEEN.sub(lambda found: ascii(found.group())[1:-1], text)


def from_engine(error: Optional[Mapping[str, Any]]) -> MillraceError:
    """The exception for an ``error`` or ``failed`` of the protocol."""
    told = error or {}
    kind = _BY_TAG.get(str(told.get("tag")), MillraceError)
    return kind(printable(str(told.get("message", "the engine failed without saying why"))))
