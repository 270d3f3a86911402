"""What happens in a forked child of the trainer: its streams are closed without a word to the engine, which
goes on to serve the parent.

The hook runs in the child before any other code of its, in the one thread that it has. Locks may be held by
threads that are gone, so ``forked`` takes none."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from .._client import process


class _Forked(Protocol):
    def forked(self) -> None:
        """Called in the child."""


_streams: "weakref.WeakSet[_Forked]" = weakref.WeakSet()


def watch(stream: _Forked) -> None:
    """From now on ``stream.forked()`` is called in forked children."""
    _streams.add(stream)


def _in_child() -> None:
    for stream in list(_streams):
        stream.forked()
    _streams.clear()
    process.forget()


os.register_at_fork(after_in_child=_in_child)
