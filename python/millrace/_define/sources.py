"""Builders of sources. Each begins a feed: ``millrace.tar("x.tar").shuffle(seed=7)…``."""

from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Tuple, Union

from .._open.names import refuse_unknown
from .feed import Builder, source_json
from .source import Path, Paths, Where, one_or_more, source_of, where_json

Source = Union[Builder, Mapping[str, Any]]


def folder(
    path: Path,
    *,
    classes: Union[Path, Sequence[str], None] = None,
    extensions: Optional[Sequence[str]] = None,
) -> Builder:
    """A folder with one folder for each class: columns image, label, class, path. ``classes`` names them in
    the order of their labels, then a class may be without a picture; or it is the folder whose classes these
    are: ``folder("val", classes="train")``."""
    plain_path = classes is None and extensions is None
    return source_of(
        "folder", path if plain_path else {"path": path, "classes": classes, "extensions": extensions}
    )


def files(
    *patterns: Paths,
    list: Optional[Path] = None,
    path: Optional[str] = None,
    paths: Optional[Mapping[str, str]] = None,
    root: Optional[Path] = None,
) -> Builder:
    """Single files, by paths or patterns; or those that a list names:
    ``files(list="train.csv", path="file")``.

    The list is CSV, TSV or JSON lines. ``path`` is its column with the paths (by default ``"path"``), which
    are relative to ``root`` (by default the list's folder); ``paths={"image": "img", "mask": "msk"}`` names
    several, by the columns that their files become. The other columns are columns of the samples, for
    fields and for ``where``, ``split`` and weights; the file itself is the column ``image``."""
    if list is None:
        if (path, paths, root) != (None, None, None):
            raise TypeError("files takes path, paths and root together with list")
        return source_of("files", one_or_more(patterns, "files"))
    if patterns:
        raise TypeError("files takes paths, or a list, not both")
    return source_of("files", {"list": list, "path": path, "paths": paths, "root": root})


def synthetic(
    count: int,
    *,
    seed: Optional[int] = None,
    images: Optional[Mapping[str, Any]] = None,
    tensors: Optional[Mapping[str, Any]] = None,
    tokens: Optional[Mapping[str, Any]] = None,
) -> Builder:
    """Made-up samples, the same for the same index: ``images=dict(width=224, height=224)``,
    ``tensors=dict(shape=[8], dtype="f32")`` or ``tokens=dict(length=1024)``."""
    parts = {"count": count, "seed": seed, "images": images, "tensors": tensors, "tokens": tokens}
    return source_of("synthetic", parts)


def kernel(
    file: Path,
    *,
    entry: str,
    count: int,
    fields: Mapping[str, Mapping[str, Any]],
    threads: Optional[int] = None,
    seed: Optional[int] = None,
    name: Optional[str] = None,
) -> Builder:
    """Samples that a CUDA kernel of yours makes on the GPU, nothing read and nothing transferred:
    ``kernel("gen.cu", entry="draw", count=10**6, fields={"image": dict(dtype="f32", shape=[3, 224, 224])})``.
    The feed has the kernel's fields: no others need to be named."""
    parts = {"file": file, "entry": entry, "count": count, "fields": fields}
    return source_of("kernel", {**parts, "threads": threads, "seed": seed, "name": name})


def source(name: str, json: Any = None, **parts: Any) -> Builder:
    """A source that a plugin brings, by its name there: ``source("units", path="a.bin")``. What the plugin
    wants to know is given by name, or as one value of another kind. ``open(plugins=[…])`` loads it: see
    docs/extend.md."""
    if json is not None and parts:
        raise TypeError("source takes one value, or parts by name, not both")
    return source_of(name, parts if json is None else json)


def concat(*sources: Source) -> Builder:
    """One after the other."""
    return source_of("concat", [source_json(source, "concat") for source in sources])


def zip_(
    *sources: Source, by: Optional[Literal["position"]] = None, key: Optional[Sequence[str]] = None
) -> Builder:
    """Side by side: the columns of all of them in one sample. Files find each other by their names, or with
    ``by="position"`` by their places. ``key`` has a regular expression for each source; its group is the part
    of the name that is equal: ``key=["(.*)_leftImg8bit", "(.*)_gtFine_labelIds"]``. A source may be a dict
    that gives columns new names: ``{"source": files("mask/*.png"), "rename": {"file": "mask"}}``."""
    entries = [_zipped(source) for source in sources]
    return source_of("zip", entries if by is key is None else {"sources": entries, "by": by, "key": key})


def _zipped(entry: Source) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping) or "source" not in entry:
        return source_json(entry, "zip")
    refuse_unknown("a source of zip", entry, ("source", "rename"))
    return {**entry, "source": source_json(entry["source"], "zip")}


def subset(
    source: Source,
    *,
    range: Optional[Tuple[int, int]] = None,
    indices: Optional[Sequence[int]] = None,
    where: Optional[Where] = None,
) -> Builder:
    """Some of the rows: a range [from, to), a list, or those for which conditions hold: ``where={"label": [1,
    2], "age": {">=": 18}, "city": None}``. ``"$any"`` and ``"$all"`` take lists of such conditions, and
    ``"$not"`` takes one."""
    inner, given = source_json(source, "subset"), where_json(where)
    return source_of("subset", {"source": inner, "range": range, "indices": indices, "where": given})


def split(
    source: Source,
    *,
    parts: Optional[Mapping[str, float]] = None,
    folds: Optional[int] = None,
    take: Union[str, int, Mapping[str, int]],
    group_by: Optional[str] = None,
    stratify_by: Optional[str] = None,
    seed: Optional[int] = None,
) -> Builder:
    """One part of a division that goes by the samples' keys: packing the data moves no sample, and adding to
    it none (with ``stratify_by``, few). Parts are fractions by name, or folds; ``take`` is a part's name, a
    fold's number, or ``{"not": 0}`` for all the other folds. ``group_by`` keeps all samples with the same
    value of an index column together; ``stratify_by`` divides each value exactly, up to rounding."""
    return source_of(
        "split",
        {
            "source": source_json(source, "split"),
            "parts": parts,
            "folds": folds,
            "take": take,
            "groupBy": group_by,
            "stratifyBy": stratify_by,
            "seed": seed,
        },
    )
