"""What builders of sources have in common, written by hand or generated."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

from .._open.names import plain
from .feed import Builder

Path = Union[str, "os.PathLike[str]"]
#: Several may come as one list.
Paths = Union[Path, Sequence[Path]]
Where = Mapping[str, Any]


def source_of(kind: str, value: Any) -> Builder:
    return Builder({"source": plain({kind: value})})


def one_or_more(paths: Sequence[Paths], where: str) -> Any:
    if len(paths) == 1 and isinstance(paths[0], (list, tuple)):
        paths = paths[0]
    if len(paths) == 0:
        raise TypeError(f"{where} takes at least one path")
    return paths[0] if len(paths) == 1 else list(paths)


def with_options(paths: Sequence[Paths], where: str, options: Mapping[str, Any]) -> Any:
    path = one_or_more(paths, where)
    return path if all(value is None for value in options.values()) else {"path": path, **options}


def where_json(where: Optional[Where]) -> Optional[Where]:
    """In a patch of a variant, null removes. Within a list it stays what it is."""
    return {"$all": [where]} if where is not None and _has_none(where) else where


def _has_none(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_none, value.values()))
    return any(map(_has_none, value)) if isinstance(value, (list, tuple)) else value is None
