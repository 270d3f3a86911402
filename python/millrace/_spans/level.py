"""How much is written down: sums alone, spans that are joined, or all of them."""

from __future__ import annotations

import os
from typing import Optional

from .._generated.span_words import LEVEL_NAMES, SpanLevel
from ..errors import DefinitionError

#: Wins over what a program asks for: to measure what each level costs.
_SWITCH = "MILLRACE_SPANS"


def level_of(observe: Optional[str]) -> int:
    """By its name: "counters", "spans" (the default) or "full"."""
    if observe is not None and observe not in LEVEL_NAMES[1:]:
        known = ", ".join(f'"{name}"' for name in LEVEL_NAMES[1:])
        raise DefinitionError(f"observe: expected one of {known}, not {observe!r}")
    for name in (os.environ.get(_SWITCH), observe):
        if name in LEVEL_NAMES[1:]:
            return LEVEL_NAMES.index(name)
    return SpanLevel.SPANS
