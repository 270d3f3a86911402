"""How much is written down: sums alone, or spans that are joined."""

from __future__ import annotations

import logging
import os
from typing import Optional, Set

from .._generated.span_words import LEVEL_NAMES, SpanLevel
from ..errors import DefinitionError

log = logging.getLogger("millrace")

#: Wins over what a program asks for: to measure what each level costs.
_SWITCH = "MILLRACE_SPANS"
#: Turns spans off (file.py).
_OFF = "0"
#: A level that is gone (packages/core/basics/removed.ts).
_FULL = "full"
#: Values of it that were warned of.
_warned: Set[str] = set()


def level_of(observe: Optional[str]) -> int:
    """By its name: "counters" or "spans" (the default).

    "full" is gone: the engine says so.
    """
    if observe not in (None, _FULL) and observe not in LEVEL_NAMES[1:]:
        known = ", ".join(f'"{name}"' for name in LEVEL_NAMES[1:])
        raise DefinitionError(f"observe: expected one of {known}, not {observe!r}")
    asked = os.environ.get(_SWITCH)
    _check(asked)
    for name in (asked, observe):
        if name in LEVEL_NAMES[1:]:
            return LEVEL_NAMES.index(name)
    return SpanLevel.SPANS


def _check(asked: Optional[str]) -> None:
    """Warns once of a value of the environment that means nothing."""
    known = (_OFF, *LEVEL_NAMES[1:])
    if asked and asked not in known and asked not in _warned:
        _warned.add(asked)
        log.warning("%s: expected one of %s, not %r: it is ignored", _SWITCH, ", ".join(known), asked)
