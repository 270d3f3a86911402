"""Functions of the user's in a feed: ``field.map(fn)`` and ``Feed(..., map=fn)``. They run in the Python
processes of the engine, ``fn(value, rng)`` or ``fn(sample, rng)``, with a numpy Generator that is keyed like
every operator."""

from __future__ import annotations

import hashlib
import inspect
import re
from typing import Any, Callable, Dict

from ..errors import DefinitionError
from .payload import write_payload

Function = Callable[[Any, Any], Any]


def function_call(fn: Function, path: str = "map") -> Dict[str, Any]:
    """The reference by which a definition means a function. ``path`` is where it stands, such as
    ``fields.label.map``."""
    if not callable(fn):
        raise TypeError(f"{path}: expected a function (value, rng), found {fn!r}")
    payload, _ = write_payload("function", fn, f"the function {_name(fn)}")
    return {
        "call": {
            "module": payload.after("python:"),
            "export": path,
            "hash": function_hash(fn),
        }
    }


def with_map(request: Dict[str, Any], fn: Function) -> Dict[str, Any]:
    """An ``open`` request whose feed has a function over the sample, which the engine may run."""
    if "feed" not in request:
        raise DefinitionError("map goes with a feed as JSON, as a dict or as a builder; a module has its own")
    map = function_call(fn)
    allowed = request.get("allowCode") or [map["call"]["module"][len("python:") :]]
    return {**request, "feed": {**request["feed"], "map": map}, "allowCode": allowed}


def function_hash(fn: Any) -> str:
    """A hash of what a function says: of its text where that can be had, of its code otherwise; for an object
    that can be called also of what it holds."""
    said = [_name(fn)]
    if hasattr(fn, "func"):  # functools.partial
        said += [function_hash(fn.func), repr(fn.args), repr(sorted(fn.keywords.items()))]
    else:
        said.append(_text(fn))
    # Addresses of objects differ from run to run.
    plain = re.sub(r" at 0x[0-9a-f]+", "", "\n".join(said))
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _text(fn: Any) -> str:
    own = fn if inspect.isroutine(fn) else type(fn)
    held = "" if inspect.isroutine(fn) else repr(fn)
    try:
        return inspect.getsource(own) + held
    except (OSError, TypeError):
        code = getattr(fn, "__code__", None)
        return repr((code.co_code, code.co_names, code.co_consts) if code else own) + held


def _name(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__
