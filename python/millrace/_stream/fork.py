"""A fork of the trainer is not the trainer: it lets go of the engine without a word, and of nothing else."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

from .._client import process

if TYPE_CHECKING:
    from .stream import Stream

_streams: "weakref.WeakSet[Stream]" = weakref.WeakSet()


def watch(stream: "Stream") -> None:
    """Forks from now on know that this stream is not theirs."""
    _streams.add(stream)


def _in_child() -> None:
    for stream in list(_streams):
        stream.forked()
    _streams.clear()
    process.forget()


os.register_at_fork(after_in_child=_in_child)
