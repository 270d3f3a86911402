"""Builders of fields: ``image("jpg").random_resized_crop(224).flip().normalize("imagenet")``.

Each call gives a new field; none is ever changed. Values are checked by the engine, which knows the whole
feed; an unknown name is an error at once.
"""

from __future__ import annotations

import math
import os
from typing import Any, Dict, Literal, Mapping, Optional, Sequence, TypeVar, Union

from .._data.functions import Function, function_call
from .._generated.operators import ImageOperators, PixelOperators
from .._open.names import hint, plain

Dtype = Literal["u8", "i8", "u16", "i16", "i32", "u32", "i64", "f16", "bf16", "f32", "f64", "bool"]
Compression = Literal["zstd", "lz4", "deflate", "zlib", "gzip"]
F = TypeVar("F", bound="Field")


class Field:
    """A field under construction: one column of a sample, what it is decoded as and what is done to it."""

    def __init__(self, json: Dict[str, Any]):
        self._json = json

    def json(self) -> Dict[str, Any]:
        """The field in the canonical form."""
        json: Dict[str, Any] = plain(self._json)
        return json

    def map(self: F, fn: Function) -> F:
        """Passes every value through ``fn(value, rng)``, in a Python process of the engine; ``rng`` is a
        numpy Generator of the sample's own. Not for pictures, boxes and points: ``Feed(..., map=fn)`` gets
        all columns."""
        return self._with(map=function_call(fn, "fields.map"))

    def _with(self: F, **change: Any) -> F:
        return type(self)({**self._json, **{key: plain(value, key) for key, value in change.items()}})

    def __repr__(self) -> str:
        return f"millrace.{type(self).__name__}({self._json})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and self._json == other._json

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        # Only called for names that aren't there. Those with an underscore are probes of Python and its
        # tools.
        if name.startswith("_"):
            raise AttributeError(name)
        kind = type(self).__name__
        if isinstance(self, ArrayField) and name in _OF_ARRAYS:
            raise AttributeError(
                f'{kind} has no "{name}"; operators of arrays are given by apply: .apply({_OF_ARRAYS[name]})'
            )
        if hasattr(ImageOperators, name):
            raise AttributeError(
                f'"{name}" is for images, and this is {kind}; it has {", ".join(_methods(type(self)))}'
            )
        raise AttributeError(f'{kind} has no "{name}"; {hint(name, _methods(type(self)))}')


#: What looks like an operator of arrays, and how it is written.
_OF_ARRAYS = {
    "crop": '{"crop": [64, 64]}',
    "center_crop": '{"crop": [64, 64]}',
    "random_crop": '{"crop": {"size": [64, 64], "at": "random"}}',
    "flip": '{"flip": [-1]}',
    "rotate90": '{"rotate90": {"axes": [-2, -1]}}',
    "normalize": '{"normalize": {"mean": 0.5, "std": 0.25}}',
}


def _methods(kind: type) -> Sequence[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


def _two(first: Union[int, Sequence[int]], second: Optional[int], what: str) -> Sequence[int]:
    """Two numbers, given as such or as a list."""
    if second is not None and not isinstance(first, (list, tuple)):
        return [first, second]  # type: ignore[list-item]
    if second is None and isinstance(first, (list, tuple)) and len(first) == 2:
        return list(first)
    raise TypeError(f"shape takes {what}, as two numbers or as a list of two")


def _dtype_name(dtype: Any) -> str:
    """Of torch.float32 and numpy.float32 the name, so that the engine says what it is called here."""
    return dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype)).split(".")[-1]


def _number(value: float) -> Union[float, str]:
    """A number as JSON has it: NaN and infinities by name."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


class _Typed(Field):
    def dtype(self: F, dtype: Dtype) -> F:
        """The element type in the batch."""
        return self._with(dtype=_dtype_name(dtype))


class _Numbers(_Typed):
    def normalize(
        self: F,
        statistics: Optional[Literal["standard"]] = None,
        *,
        mean: Union[float, Sequence[float], None] = None,
        std: Union[float, Sequence[float], None] = None,
    ) -> F:
        """(x - mean) / std, each a number or, of a vector, one for each column; ``"standard"``: by those of
        the feed's main source."""
        if statistics is not None and (mean is not None or std is not None):
            raise TypeError('normalize takes "standard", or mean and std, not both')
        op = statistics if statistics is not None else {"mean": mean, "std": std}
        return self._with(apply=[*self._json.get("apply", []), {"normalize": op}])

    def clamp(self: F, low: float, high: float) -> F:
        """No less than ``low``, no more than ``high``."""
        return self._with(apply=[*self._json.get("apply", []), {"clamp": [low, high]}])


class VectorField(_Numbers):
    """The numbers of several columns, side by side."""

    def missing(self: F, value: float) -> F:
        """The number that stands for a cell without one: a null, an empty cell, NaN. Without it, such a
        sample is bad."""
        return self._with(missing=_number(value))


class NumberField(_Numbers):
    """One number a row."""

    def missing(self: F, value: float) -> F:
        """The number of samples that have none, such as ``-1`` or ``nan``. Without it, they are bad
        samples."""
        return self._with(missing=_number(value))


class TextField(Field):
    """A string a row."""

    def ragged(self: F, max: Optional[int] = None, total: Optional[int] = None) -> F:
        """The greatest number of bytes of one row, and of a whole batch."""
        return self._with(ragged={"max": max, "total": total})

    def tokenize(
        self,
        tokenizer: Union[str, "os.PathLike[str]", Mapping[str, Any]],
        *,
        max: Optional[int] = None,
        truncate: Optional[Literal["right", "left"]] = None,
        special: Optional[Literal["text", "parse"]] = None,
        append: Union[Literal["eod"], int, None] = None,
    ) -> TokensField:
        """Makes integers of a text: ``text("text").tokenize("tokenizer.json", max=2048)``. What is longer is
        cut on the right or left; ``append="eod"`` puts the token that ends a document behind the others."""
        given = {"max": max, "truncate": truncate, "special": special, "append": append}
        op = {"tokenize": plain({"tokenizer": tokenizer, **given}, "tokenize")}
        return TokensField({**self._json, "apply": [op]})

    def missing(self: F, value: str) -> F:
        """The text of samples that have none; for JSON its text, such as ``"null"``. Without it, they are
        bad samples."""
        return self._with(missing=value)


class _Varying(_Typed):
    def ragged(self: F, max: Optional[int] = None, total: Optional[int] = None) -> F:
        """Rows one after the other, with offsets: at most ``max`` of one row and ``total`` of a batch."""
        return self._with(ragged={"max": max, "total": total})

    def pad(
        self: F,
        to: Union[int, Literal["longest"]],
        *,
        multiple: Optional[int] = None,
        value: Optional[float] = None,
        max: Optional[int] = None,
    ) -> F:
        """Rows filled up with ``value`` to one length, or to the longest of the batch."""
        return self._with(pad={"to": to, "multiple": multiple, "value": value, "max": max})


class TokensField(_Varying):
    """A text as its tokens, of varying length."""

    def missing(self: F, value: str) -> F:
        """The text of samples that have none. Without it, they are bad samples."""
        return self._with(missing=value)


class ArrayField(_Varying):
    """Bytes or arrays, of one shape or of varying length."""

    def apply(self: F, *operators: Any) -> F:
        """Operators of arrays, in this order: ``.apply({"crop": [64, 64]}, {"flip": [-1]})``. The field's
        shape is what comes out."""
        return self._with(apply=list(operators))

    def follow(self: F, field: str) -> F:
        """Moves as another field of arrays does, with the same random choices: a mask with its image."""
        return self._with(follow=field)

    def compression(self: F, compression: Compression) -> F:
        """The column's bytes are compressed, each sample by itself: a .npy file, or the bare elements."""
        return self._with(compression=compression)

    def missing(self: F, value: Union[float, str, Sequence[Any]]) -> F:
        """What samples have that have none: a number for all elements, a text for bytes, ``[]`` for rows of
        varying length. Without it, they are bad samples."""
        return self._with(missing=_number(value) if isinstance(value, (int, float)) else value)


class _Follower(Field):
    def follow(self: F, field: str) -> F:
        """Moves as that image or mask does, with its random choices."""
        return self._with(follow=field)


class ThingsField(_Varying, _Follower):
    """Boxes or points in an image."""

    def shape(self: F, count: Union[int, Sequence[int]], numbers: Optional[int] = None) -> F:
        """The greatest number of them in a row, and how many numbers each has: boxes 4, or 5 with a label;
        points 2. As two numbers, or as a list of them."""
        return self._with(shape=_two(count, numbers, "count, numbers"))

    def min_area(self: F, pixels: float) -> F:
        """Boxes left with less area than this are dropped."""
        return self._with(minArea=pixels)

    def missing(self: F, value: Sequence[Any] = ()) -> F:
        """Samples that have none of the columns have no boxes or points. Without this, they are bad
        samples."""
        return self._with(missing=list(value))


class _Pixels(_Typed, _Follower):
    def _apply(self: F, op: Dict[str, Any]) -> F:
        return self._with(apply=[*self._json.get("apply", []), op])

    def shape(self: F, height: Union[int, Sequence[int]], width: Optional[int] = None) -> F:
        """The greatest size, where no operator fixes it: ``shape(480, 640)`` or ``shape([480, 640])``, height
        first. Smaller ones are filled up at the right and below."""
        return self._with(shape=_two(height, width, "height, width"))

    def orientation(self: F, orientation: Literal["exif", "stored"]) -> F:
        """``"stored"``: pixels as they are stored, not turned upright by EXIF: torchvision's loaders and
        PIL's ``convert("RGB")`` have them so."""
        return self._with(orientation=orientation)


class MaskField(PixelOperators, _Pixels):
    """A mask: numbers of classes by pixel."""


class ImageField(ImageOperators, _Pixels):
    """A picture, of three channels or one."""

    def layout(self: F, layout: Literal["chw", "hwc"]) -> F:
        """Where the channels are: first (the default) or last."""
        return self._with(layout=layout)

    def scale(self: F, scale: Union[Literal["auto"], int]) -> F:
        """Decodes JPEG at 1/scale of its size: faster, and not quite the same values."""
        return self._with(scale=scale)


# Each begins with the column it comes from; alternatives are separated by |, the first present is taken.
# Those that are named like types of Python's have an underscore here, so that the types can still be meant in
# this file.


def image(column: str, *, channels: Optional[Literal[1, 3]] = None) -> ImageField:
    """A picture, [3, height, width]: ``image("jpg|png")``. With ``channels=1`` [1, height, width]: gray as it
    is stored, and of colours their luma, as PIL's ``convert("L")`` has it."""
    return ImageField({"from": column, "as": "image", **({} if channels is None else {"channels": channels})})


def mask(column: str) -> MaskField:
    """A mask, [height, width]."""
    return MaskField({"from": column, "as": "mask"})


def boxes(column: str) -> ThingsField:
    """Boxes [x1, y1, x2, y2], with a label as fifth number if there is one."""
    return ThingsField({"from": column, "as": "boxes"})


def points(column: str) -> ThingsField:
    """Points [x, y]."""
    return ThingsField({"from": column, "as": "points"})


def category(column: str, classes: Optional[Sequence[str]] = None) -> NumberField:
    """A name, as its number in the list of classes; without a list, in the sorted names that the feed's main
    source has."""
    listed = {} if classes is None else {"classes": list(classes)}
    return NumberField({"from": column, "as": "class", **listed})


def vector(columns: Union[str, Sequence[str]]) -> VectorField:
    """The numbers of several columns as one row: names, and patterns such as ``"f*"`` or, to leave one out,
    ``"!id"``."""
    return VectorField({"from": columns if isinstance(columns, str) else list(columns), "as": "vector"})


def int_(column: str) -> NumberField:
    """A whole number, i64 unless another type is given."""
    return NumberField({"from": column, "as": "int"})


def float_(column: str) -> NumberField:
    """A number, f32 unless another type is given."""
    return NumberField({"from": column, "as": "float"})


def text(column: str) -> TextField:
    """A string; the batch has a list of them."""
    return TextField({"from": column, "as": "text"})


def json_(column: str) -> TextField:
    """JSON, as a string."""
    return TextField({"from": column, "as": "json"})


def bytes_(column: str) -> ArrayField:
    """The bytes as they are."""
    return ArrayField({"from": column, "as": "bytes"})


def npy(column: str, *, shape: Union[int, Sequence[int]], dtype: Dtype) -> ArrayField:
    """An array in NumPy's format, or one of a source: the shape of each in the batch (its first number is the
    greatest, with ragged or pad) and the element type."""
    sizes = [shape] if not hasattr(shape, "__iter__") else list(shape)
    return ArrayField({"from": column, "as": "npy", "dtype": _dtype_name(dtype), "shape": sizes})
