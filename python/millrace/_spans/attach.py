"""Finds the spans of processes, this one included."""

from __future__ import annotations

import os
from typing import Dict, List, Optional, Tuple, Union

from .._generated.span_words import SPANS_NAME
from ..errors import MillraceError
from .file import shared
from .reader import Spans


def spans(where: Union[int, str, None] = None) -> Spans:
    """The spans of a process: by its number, or by a path that ``span_writers()`` gives.

    Without an argument those of this process. Only processes of the same user, or of all for root.
    """
    if where is None:
        own = shared()
        if own is None:
            raise MillraceError("this process writes no spans: they are turned off, or there is no memory")
        return Spans(own.path)
    if isinstance(where, str):
        return Spans(where)
    found = _spans_of(where)
    if not found:
        raise MillraceError(
            f"process {where} writes no spans, or is not yours to look into: "
            "span_writers() lists those that do"
        )
    return Spans(found[0])


def span_writers() -> List[Tuple[int, str]]:
    """The processes that write spans, and where, as far as this user may look into them."""
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [(pid, path) for pid in pids for path in _spans_of(pid)]


def _spans_of(pid: int) -> List[str]:
    """Memory of spans that a process writes. One that is attached to it has such a descriptor, too."""
    folder = f"/proc/{pid}/fd"
    try:
        paths = [f"{folder}/{fd}" for fd in os.listdir(folder)]
    except OSError:
        return []  # it has ended, or is another user's
    found: Dict[int, str] = {}
    for path in paths:
        inode = _written_by(pid, path)
        if inode is not None:
            found.setdefault(inode, path)
    return list(found.values())


def _written_by(pid: int, path: str) -> Optional[int]:
    """The inode of memory of spans that the process writes; it may have several descriptors of it."""
    try:
        if not os.readlink(path).startswith(f"/memfd:{SPANS_NAME}"):
            return None
        with Spans(path) as spans:
            return os.stat(path).st_ino if spans.pid == pid else None
    except (OSError, MillraceError):
        return None
