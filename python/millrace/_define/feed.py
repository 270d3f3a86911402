"""A feed under construction, in Python's spelling.

    feed = (millrace.tar("shards/train-{0000..0015}.tar").shuffle(seed=7)
            .fields(image=millrace.image("jpg").random_resized_crop(224).flip().normalize("imagenet"),
                    label=millrace.int("cls"))
            .batch(256))

Each call gives a new builder; none is ever changed. ``json()`` is exactly what the TypeScript builder makes
of the same feed.
"""

from __future__ import annotations

import copy
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Literal,
    Mapping,
    NoReturn,
    Optional,
    Sequence,
    Set,
    TypeVar,
    Union,
)

from .._open.names import hint, instead, patch_between, plain, refuse_unknown
from .._open.options import named
from ..errors import DefinitionError
from .fields import Field

if TYPE_CHECKING:
    from ..feed import Feed

Json = Dict[str, Any]
Last = Literal["drop", "keep", "pad"]
Policy = Literal["fail", "drop", "mask"]
#: A field, or a column of tokens as one.
AnyField = Union[Field, Mapping[str, Any]]
B = TypeVar("B", bound="Builder")

#: Names that stand in ``millrace`` beside the builder, not on it. public.py enters them.
BESIDE: Set[str] = set()

#: What a feed needs before it can be opened, and how it is said.
_NEEDED = {
    "fields": 'fields, such as .fields(image=millrace.image("jpg").center_crop(224))',
    "batch": "a batch size, such as .batch(256)",
}
_VARIANT_KEYS = {
    "source": "source",
    "order": "order",
    "fields": "fields",
    "batch": "batch",
    "on_error": "onError",
}


class Builder:
    """A source, and what has been said about its order, fields and batches so far."""

    def __init__(self, parts: Json):
        self._parts = parts
        #: The folder against which relative paths are resolved: where Python stood when the source was named.
        self.root: str = os.getcwd()

    # ------------------------------------------------------------------ what comes out

    def json(self) -> Json:
        """The feed in the canonical form."""
        for part, how in _NEEDED.items():
            if part not in self._parts and not (part == "fields" and _names_fields(self._parts["source"])):
                raise DefinitionError(f"the feed has no {part} yet: add {how}")
        base = plain({key: value for key, value in self._parts.items() if key != "variants"})
        variants = {}
        for name, parts in plain(self._parts.get("variants", {})).items():
            fields = _joined_fields(base.get("fields", {}), parts.get("fields", {}))
            target = {**base, **parts, **({"fields": fields} if fields else {})}
            variants[name] = patch_between(base, target) or {}
        return {**base, "variants": variants} if variants else base

    def open(self, **options: Any) -> Feed:
        """Starts feeding: ``Feed(self, **options)``."""
        from ..feed import Feed

        return Feed(self, **options)

    def __len__(self) -> NoReturn:
        raise TypeError("this feed is not open yet: len(feed.open()) is the number of steps")

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> NoReturn:
        raise TypeError("this feed is not open yet: for batch in feed.open(), or feed.open().torch(…)")

    # ------------------------------------------------------------------ order

    @named
    def shuffle(
        self: B, seed: int = 0, window: Optional[int] = None, group: Optional[Mapping[str, Any]] = None
    ) -> B:
        """Every sample once an epoch, in random order; with a window, mixed within so many samples of blocks
        that are read whole. ``group``: batches of like lengths, such as ``{"batches": 64}``, or
        ``{"by": "seconds"}`` for a column of the index."""
        return self._with(order=shuffle(seed, window, group))

    def sequential(self: B) -> B:
        """As the source has them. This is the default."""
        return self._with(order=sequential())

    @named
    def weighted(
        self: B,
        weights: Optional[Sequence[float]] = None,
        *,
        column: Optional[str] = None,
        balance: Optional[str] = None,
        seed: Optional[int] = None,
        samples: Optional[int] = None,
    ) -> B:
        """With replacement: by a list of weights, a column of the index, or evenly over the values of a
        column."""
        return self._with(order=weighted(weights, column=column, balance=balance, seed=seed, samples=samples))

    def megatron(
        self: B,
        *,
        samples: Optional[int] = None,
        seed: Optional[int] = None,
        split: Union[str, Sequence[float], None] = None,
        take: Optional[Literal["train", "valid", "test"]] = None,
        extra: Optional[bool] = None,
        keep_partial: Optional[bool] = None,
        surplus: Optional[float] = None,
    ) -> B:
        """The order of Megatron's GPTDataset and BlendedDataset, bit for bit, for a run of ``samples``
        samples: one begun there goes on here. docs/language-models.md says which option is which there."""
        return self._with(
            order=megatron(
                samples=samples,
                seed=seed,
                split=split,
                take=take,
                extra=extra,
                keep_partial=keep_partial,
                surplus=surplus,
            )
        )

    # ------------------------------------------------------------------ fields, batch, errors, variants

    def fields(
        self: B,
        fields: Union[Mapping[str, AnyField], Sequence[str], None] = None,
        /,
        *columns: str,
        **more: AnyField,
    ) -> B:
        """What a sample becomes, by name. Called again, it adds fields, and replaces those of the same name.
        A mapping serves for names that Python reserves, such as ``class``. Of tokens, columns:
        ``fields("input", "target", "cuSeqlens")`` or a list of them, or
        ``fields(x={"from": "input", "dtype": "i32"})``."""
        if isinstance(fields, str):
            fields = (fields, *columns)
        elif columns:
            raise TypeError(
                "fields takes columns, a list of columns, or fields by name, not several of these"
            )
        if isinstance(fields, (list, tuple)):
            if more:
                raise TypeError("fields takes a list of columns, or fields by name, not both")
            return self._with(fields=list(fields))
        given: Mapping[str, Any] = fields or {}  # type: ignore[assignment]
        return self._with(
            fields=_joined_fields(self._parts.get("fields", {}), _fields_json({**given, **more}))
        )

    @named
    def batch(
        self: B,
        size: Optional[int] = None,
        *,
        global_: Optional[int] = None,
        tokens: Optional[int] = None,
        rows: Optional[int] = None,
        field: Optional[str] = None,
        by: Optional[str] = None,
        last: Optional[Last] = None,
        apply: Optional[Sequence[Json]] = None,
    ) -> B:
        """Rows of a batch on one rank (``size``), or of all ranks together (``global_``); what becomes of the
        last, short one; and ``mixup``, ``cutmix`` or ``mosaic`` over the batch.

        Or ``tokens``: a batch of so many tokens on one rank, and at most ``rows``. They are those of
        ``field``, by default of the first whose rows vary in length; ``by`` names a column of the index that
        has the lengths, so that they need not be measured."""
        given: Json = {"global": global_, "tokens": tokens, "rows": rows, "field": field, "by": by}
        batch: Json = {"size": size, **given, "last": last, "apply": apply}
        alone = size is not None and all(value is None for name, value in batch.items() if name != "size")
        return self._with(batch=size if alone else batch)

    @named
    def on_error(self: B, policy: Policy, budget: Optional[int] = None) -> B:
        """What becomes of a bad sample, and how many of them a run survives."""
        return self._with(onError=policy if budget is None else {"policy": policy, "budget": budget})

    def variants(self: B, **variants: Union[Builder, Mapping[str, Any]]) -> B:
        """What else the feed can be, by name. Each is a builder with the parts that differ, or a dict of
        ``source``, ``order``, ``fields``, ``batch`` and ``on_error``; fields that are given replace those of
        the same name."""
        parts = {name: _variant_parts(name, variant) for name, variant in variants.items()}
        return self._with(variants={**self._parts.get("variants", {}), **parts})

    def relative_to(self: B, path: Union[str, os.PathLike[str]]) -> B:
        """Resolves relative paths against this folder, or the folder of this file:
        ``.relative_to(__file__)``."""
        place = os.path.abspath(os.path.expanduser(os.fspath(path)))
        moved = copy.copy(self)
        moved.root = place if os.path.isdir(place) else os.path.dirname(place)
        return moved

    # ------------------------------------------------------------------ within

    def _with(self: B, **change: Any) -> B:
        changed = copy.copy(self)
        changed._parts = {**self._parts, **{key: plain(value, key) for key, value in change.items()}}
        return changed

    def __repr__(self) -> str:
        return f"millrace.{type(self).__name__}({self._parts})"

    def __getattr__(self, name: str) -> Any:
        # Only called for names that aren't there. Those with an underscore are probes of Python and its
        # tools.
        if name.startswith("_"):
            raise AttributeError(name)
        from ..feed import Feed

        if instead(name) is not None:
            raise AttributeError(f'a feed has no "{name}": {instead(name)}')
        if hasattr(Feed, name):
            raise AttributeError(f"this feed is not open yet: feed.open().{name}")
        if name in BESIDE:
            raise AttributeError(
                f'a feed has no "{name}": it is millrace.{name}, which takes sources or stands first'
            )
        raise AttributeError(
            f'a feed has no "{name}"; {hint(name, [n for n in dir(Builder) if n[0] != "_"])}'
        )


def shuffle(seed: int = 0, window: Optional[int] = None, group: Optional[Mapping[str, Any]] = None) -> Json:
    """The order of ``Builder.shuffle``, for a variant."""
    order: Json = {"shuffle": "global" if window is None else {"window": window}, "seed": seed}
    return order if group is None else {**order, "group": dict(group)}


def sequential() -> str:
    """The order of ``Builder.sequential``, for a variant."""
    return "none"


def weighted(
    weights: Optional[Sequence[float]] = None,
    *,
    column: Optional[str] = None,
    balance: Optional[str] = None,
    seed: Optional[int] = None,
    samples: Optional[int] = None,
) -> Json:
    """The order of ``Builder.weighted``, for a variant."""
    if sum(given is not None for given in (weights, column, balance)) != 1:
        raise TypeError("weighted takes exactly one of a list of weights, column and balance")
    by = weights if weights is not None else {"column": column, "balance": balance}
    return {"weights": by, "samples": samples, "seed": seed}


def megatron(
    *,
    samples: Optional[int] = None,
    seed: Optional[int] = None,
    split: Union[str, Sequence[float], None] = None,
    take: Optional[Literal["train", "valid", "test"]] = None,
    extra: Optional[bool] = None,
    keep_partial: Optional[bool] = None,
    surplus: Optional[float] = None,
) -> Json:
    """The order of ``Builder.megatron``, for a variant."""
    given = {"samples": samples, "seed": seed, "split": split, "take": take, "extra": extra}
    return {"megatron": {**given, "keepPartial": keep_partial, "surplus": surplus}}


def source_json(what: Any, where: str) -> Json:
    """The JSON of a source that stands inside another or in a variant: a builder's, or a dict's."""
    if isinstance(what, Builder):
        more = [part for part in what._parts if part != "source"]
        if more:
            raise TypeError(
                f"{where} takes sources alone: say {', '.join(more)} about the whole, after {where}(...)"
            )
        source: Json = what._parts["source"]
        return source
    if isinstance(what, Mapping):
        return dict(what)
    raise TypeError(f'{where} takes sources such as millrace.tar("x.tar"), and {what!r} is none')


def _names_fields(source: Any) -> bool:
    """Whether a source, or one in it, says itself what its fields are."""
    if isinstance(source, Mapping):
        return any(
            name in ("kernel", "tokens", "chat") or _names_fields(inner) for name, inner in source.items()
        )
    return isinstance(source, (list, tuple)) and any(_names_fields(inner) for inner in source)


def _joined_fields(base: Any, more: Any) -> Any:
    """Fields and those that are added to them. A list of columns is replaced as a whole."""
    if isinstance(more, list) or (isinstance(base, list) and more):
        return more
    return base if isinstance(base, list) else {**base, **more}


def _fields_json(fields: Mapping[str, Any]) -> Json:
    for name, field in fields.items():
        if not isinstance(field, (Field, Mapping)):
            raise TypeError(
                f'field "{name}": expected a field such as millrace.image("jpg"), found {field!r}'
            )
    return {name: field.json() if isinstance(field, Field) else dict(field) for name, field in fields.items()}


def _variant_parts(name: str, variant: Union[Builder, Mapping[str, Any]]) -> Json:
    if isinstance(variant, Builder):
        return variant._parts
    if not isinstance(variant, Mapping):
        raise TypeError(f'variant "{name}": expected a builder or a dict of what differs, found {variant!r}')
    refuse_unknown(f'variant "{name}"', variant, _VARIANT_KEYS)
    parts: Json = {_VARIANT_KEYS[key]: value for key, value in variant.items()}
    if "source" in parts:
        parts["source"] = source_json(parts["source"], f'variant "{name}"')
    if "fields" in parts:
        listed = isinstance(parts["fields"], (list, tuple))
        parts["fields"] = list(parts["fields"]) if listed else _fields_json(parts["fields"])
    parts = plain(parts)
    return parts
