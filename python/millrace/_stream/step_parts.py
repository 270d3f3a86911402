"""Where the time between two steps went: waiting for makers, taking the batch, waiting for its copy.

    asked ──────── complete ──────── on its way ──────── there ──────── handed ──step──► asked
      │   supply      │   hand-over       │    transfer     │  hand-over   │

``asked`` and ``there`` are those of the trainer: on CUDA, when its stream came there; elsewhere, when its
thread did. ``complete`` is when the makers closed the batch, ``on its way`` when the host had done its part.
"""

from __future__ import annotations

from typing import NamedTuple


class Parts(NamedTuple):
    """Of one wait (seconds). They follow each other, and add up to it."""

    supply: float
    hand: float
    copy: float


def divide(asked: float, complete: float, sent: float, there: float) -> Parts:
    """A wait from ``asked`` until ``there``. ``sent``: when the batch was on its way to the device."""
    there = max(there, asked)
    first = min(max(complete, asked), there)
    second = min(max(sent, first), there)
    return Parts(first - asked, second - first, there - second)
