"""Makes operators' methods of their signatures: what is given goes into the definition, in its spelling.

``operators.py``, which is generated from the engine's own table, has the signatures; their defaults are
there for the reader, since the engine fills them in itself.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Literal, Sequence, Tuple, TypeVar, Union

from .._open.names import camel, plain, refuse_unknown

#: A square's side, or (height, width), in pixels.
Size = Union[int, Sequence[int]]
Filter = Literal["bilinear", "bicubic", "nearest"]
Mode = Literal["constant", "edge", "reflect", "symmetric"]
Axis = Literal["horizontal", "vertical"]
#: One number for both ends, or (low, high).
Spread = Union[float, Sequence[float]]
#: One number for all channels, or (red, green, blue).
Channels = Union[float, Sequence[float]]

Method = TypeVar("Method", bound=Callable[..., Any])
#: Arguments by their names, or parameters by theirs.
Named = Dict[str, Any]


def operator(name: str, **always: Any) -> Callable[[Method], Method]:
    """A method that adds the operator ``name`` to its field. ``always``: written even when it isn't given."""

    def make(declared: Method) -> Method:
        parameters = _parameters_of(declared)

        @functools.wraps(declared)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self._apply({name: parameters({**always}, args, kwargs)})

        return method  # type: ignore[return-value]

    return make


def batch_operator(name: str) -> Callable[[Method], Method]:
    """A function that gives the operator ``name`` for ``batch(..., apply=[...])``."""

    def make(declared: Method) -> Method:
        parameters = _parameters_of(declared)

        @functools.wraps(declared)
        def function(*args: Any, **kwargs: Any) -> Dict[str, Any]:
            return {name: parameters({}, args, kwargs)}

        return function  # type: ignore[return-value]

    return make


def _parameters_of(declared: Callable[..., Any]) -> Callable[[Named, Tuple[Any, ...], Named], Any]:
    """From the arguments of a call to parameters in the definition's spelling."""
    name = declared.__name__
    signature = inspect.signature(declared)
    signature = signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "self"])

    def parameters(written: Named, args: Tuple[Any, ...], kwargs: Named) -> Any:
        refuse_unknown(name, kwargs, signature.parameters)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as problem:
            raise TypeError(f"{name}: {problem}{_as_pair(args, signature)}") from None
        given = {key: value for key, value in given.items() if value is not None}
        if "preset" in given:
            if len(given) > 1:
                raise TypeError(f"{name} takes a preset or its own numbers, not both")
            return plain(given["preset"], name)
        for key, value in given.items():
            written[camel(key)] = plain(value, f"{name}.{key}")
        return written

    return parameters


def _as_pair(args: Tuple[Any, ...], signature: inspect.Signature) -> str:
    """What to write instead of ``resize(224, 224)``."""
    if next(iter(signature.parameters), None) != "size" or len(args) < 2:
        return ""
    return f"; a height and a width are one argument: [{args[0]!r}, {args[1]!r}]"
