"""A feed in whatever spelling, as the engine wants to hear it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Tuple

from ..errors import DefinitionError

#: Files that the engine imports by itself.
MODULES = (".ts", ".mts", ".js", ".mjs")


def resolve(feed: Any, variant: Optional[str] = None) -> Tuple[Dict[str, Any], str]:
    """The part of the ``open`` request that says which feed, and what to call it.

    ``feed`` is a path (``cats.json``, ``cats.feed.ts``, ``cats.json#val``), a dict, a builder, or None for
    the feed that a running engine was given. The engine may run the code of a module that is named here, and
    of a feed that a builder made (``allowCode``). A JSON file or a dict may have come from anywhere.
    """
    request: Dict[str, Any] = {} if variant is None else {"variant": variant}
    if feed is None:
        return request, "the engine's feed"
    if isinstance(feed, (str, os.PathLike)):
        return _of_path(os.path.expanduser(os.fspath(feed)), request)
    if isinstance(feed, Mapping):
        return {"feed": dict(feed), "root": os.getcwd(), **request}, _called(feed, variant)
    for method in ("to_dict", "json"):
        make = getattr(feed, method, None)
        if callable(make):
            told = make()
            told = json.loads(told) if isinstance(told, str) else dict(told)
            root = getattr(feed, "root", None) or os.getcwd()
            return {"feed": told, "root": os.path.abspath(root), "allowCode": True, **request}, _called(
                told, variant
            )
    raise DefinitionError(
        f"a feed is a path, a dict or a builder such as millrace.tar(…), not {type(feed).__name__}"
    )


def _called(feed: Mapping[str, Any], variant: Optional[str]) -> str:
    """What to call a feed that has no file: its data, ``train-{0000..0015}.tar`` or ``photos``."""
    source: Any = feed.get("source")
    kind, data = "feed", None
    while isinstance(source, Mapping) and len(source) == 1:
        ((kind, data),) = source.items()
        # Of sources that are made of others, the first.
        if kind == "blend" and isinstance(data, Mapping):
            data = data.get("entries")
        if isinstance(data, list) and data and isinstance(data[0], Mapping):
            data = data[0]
        source = data.get("source") if isinstance(data, Mapping) and "source" in data else data
    if isinstance(data, list) and data:
        data = data[0]
    if isinstance(data, Mapping):
        data = data.get("path") or data.get("name") or data.get("file")
    name = Path(data).name if isinstance(data, str) else ""
    return (name or kind) + ("" if variant is None else f"#{variant}")


def _of_path(text: str, request: Dict[str, Any]) -> Tuple[Dict[str, Any], str]:
    path = Path(text)
    # A file that has # in its name goes before.
    if "#" in text and not path.exists():
        text, _, variant = text.rpartition("#")
        path = Path(text)
        request = {"variant": variant, **request}
    name = path.name if "variant" not in request else f"{path.name}#{request['variant']}"
    if not path.exists():
        raise DefinitionError(f"{text}: there is no such file")
    if path.suffix in MODULES:
        return {"feedPath": str(path.resolve()), "allowCode": True, **request}, name
    if path.suffix != ".json":
        raise DefinitionError(f"{text}: a feed is a .json file or a module ({', '.join(MODULES)})")
    try:
        feed = json.loads(path.read_text("utf8"))
    except ValueError as error:
        raise DefinitionError(f"{text}: not JSON: {error}") from error
    return {"feed": feed, "root": str(path.resolve().parent), **request}, name
