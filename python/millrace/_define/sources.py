"""Builders of sources. Each begins a feed: ``millrace.tar("x.tar").shuffle(seed=7)…``."""

from __future__ import annotations

import os
from typing import Any, Literal, Mapping, Optional, Sequence, Tuple, Union

from .._open.names import plain, refuse_unknown
from .feed import Builder, source_json

Path = Union[str, "os.PathLike[str]"]
#: Several may come as one list.
Paths = Union[Path, Sequence[Path]]
Source = Union[Builder, Mapping[str, Any]]
Where = Mapping[str, Any]


def _source(kind: str, value: Any) -> Builder:
    return Builder({"source": plain({kind: value})})


def _one_or_more(paths: Sequence[Paths], where: str) -> Any:
    if len(paths) == 1 and isinstance(paths[0], (list, tuple)):
        paths = paths[0]
    if len(paths) == 0:
        raise TypeError(f"{where} takes at least one path")
    return paths[0] if len(paths) == 1 else list(paths)


def _array_files(kind: str, paths: Sequence[Paths], rows: Optional[str]) -> Builder:
    path = _one_or_more(paths, kind)
    return _source(kind, path if rows is None else {"path": path, "rows": rows})


def tar(*paths: Paths, root: Optional[Path] = None) -> Builder:
    """Shards of the WebDataset kind: paths or patterns such as ``train-{0000..0015}.tar``. ``root``: where
    the shards that a shard list names may lie, besides the folder of the list."""
    return _source("tar", _with_options(paths, "tar", {"root": root}))


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
    return _source(
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
        return _source("files", _one_or_more(patterns, "files"))
    if patterns:
        raise TypeError("files takes paths, or a list, not both")
    return _source("files", {"list": list, "path": path, "paths": paths, "root": root})


def zarr(
    path: Paths,
    *,
    arrays: Union[str, Sequence[str], Mapping[str, str], None] = None,
    rows: Optional[str] = None,
) -> Builder:
    """Zarr arrays of version 2 or 3, whose first axis is the rows:
    ``zarr("train.zarr", arrays={"image": "images", "label": "y"})``. ``arrays`` are paths in the store, with
    wildcards, or paths by the names of columns; by default all. ``rows="groups"``: each group is a row."""
    if arrays is None and rows is None:
        return _source("zarr", path)
    return _source("zarr", {"path": path, "arrays": arrays, "rows": rows})


def npy_files(*paths: Paths, rows: Optional[str] = None, column: Optional[str] = None) -> Builder:
    """NumPy's .npy files: each is a sample, column ``data`` or ``column``; with ``rows="axis"``, each step
    along the first axis is: ``zip(npy_files("x.npy", rows="axis"), npy_files("y.npy", rows="axis",
    column="label"))``."""
    path = _one_or_more(paths, "npy")
    return _source("npy", path if rows is column is None else {"path": path, "rows": rows, "column": column})


def npz(*paths: Paths, rows: Optional[str] = None) -> Builder:
    """NumPy's .npz files: each is a sample with a column for each array; with ``rows="axis"``, each step
    along their first axis is."""
    return _array_files("npz", paths, rows)


def safetensors(*paths: Paths, rows: Optional[str] = None) -> Builder:
    """.safetensors files: each is a sample with a column for each tensor; with ``rows="axis"``, each step
    along their first axis is."""
    return _array_files("safetensors", paths, rows)


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
    return _source("synthetic", parts)


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
    return _source("kernel", {**parts, "threads": threads, "seed": seed, "name": name})


def arrow(*paths: Paths, split: Optional[str] = None, root: Optional[Path] = None) -> Builder:
    """Arrow files and streams (Feather too), by paths or patterns, or a folder that Hugging Face's datasets
    saved; ``split`` says which, of a folder with several. Rows are samples. ``root``: where files that rows
    name may lie, besides the folder of the table."""
    return _source("arrow", _with_options(paths, "arrow", {"split": split, "root": root}))


def _hdf5(
    kind: str, paths: Sequence[Paths], datasets: Optional[Mapping[str, str]], rows: Optional[str]
) -> Builder:
    path = _one_or_more(paths, kind)
    if datasets is None and rows is None:
        return _source(kind, path)
    return _source(kind, {"path": path, "datasets": datasets, "rows": rows})


def hdf5(*paths: Paths, datasets: Optional[Mapping[str, str]] = None, rows: Optional[str] = None) -> Builder:
    """HDF5 files, by paths or patterns: ``hdf5("train-*.h5", datasets={"image": "/x", "label": "/y"})``.

    A sample is a row of the first axis of all datasets. Without ``datasets``, these are all whose first axes
    are as long as each other. A star stands for groups, whose rows follow each other, as the steps of all
    episodes: ``datasets={"image": "data/*/obs/img", "action": "data/*/action"}``. With ``rows="groups"``, a
    sample is such a group, with all of its datasets."""
    return _hdf5("hdf5", paths, datasets, rows)


def netcdf4(
    *paths: Paths, datasets: Optional[Mapping[str, str]] = None, rows: Optional[str] = None
) -> Builder:
    """netCDF-4 files, which are HDF5 files with names for their axes: as :func:`hdf5`."""
    return _hdf5("netcdf4", paths, datasets, rows)


def csv(
    *paths: Paths,
    delimiter: Optional[str] = None,
    header: Optional[bool] = None,
    columns: Optional[Sequence[str]] = None,
    types: Optional[Mapping[str, str]] = None,
) -> Builder:
    """CSV and TSV files: a record is a sample, its cells are the columns. ``columns`` names them where the
    file has no header. ``types`` declares ``"int"``, ``"float"``, ``"bool"`` or ``"text"``; of the other
    columns the first rows decide."""
    options = {"delimiter": delimiter, "header": header, "columns": columns, "types": types}
    return _source("csv", _with_options(paths, "csv", options))


def jsonl(*paths: Paths) -> Builder:
    """JSON lines: an object in each line is a sample, its keys are the columns. ``"a.b"`` is ``b`` in the
    object ``a``."""
    return _source("jsonl", _one_or_more(paths, "jsonl"))


def parquet(
    *paths: Paths,
    where: Optional[Where] = None,
    root: Optional[Path] = None,
    checksums: Optional[bool] = None,
) -> Builder:
    """Parquet files: a row is a sample; its columns are those of the files. ``where`` takes the rows that
    meet conditions on columns: ``{"width": {">=": 256}, "label": [1, 2]}``. ``root``: where files that rows
    name may lie, besides the folder of the table. With ``checksums=False`` checksums that pages have are not
    compared."""
    return _source(
        "parquet",
        _with_options(paths, "parquet", {"where": _where(where), "root": root, "checksums": checksums}),
    )


def text_lines(*paths: Paths, blank_lines: Optional[str] = None) -> Builder:
    """Lines of text files: columns ``text`` and ``line``. ``blank_lines="skip"`` leaves out lines that are
    empty, or have nothing but blanks."""
    return _source("text", _with_options(paths, "text_lines", {"blankLines": blank_lines}))


def _with_options(paths: Sequence[Paths], where: str, options: Mapping[str, Any]) -> Any:
    path = _one_or_more(paths, where)
    return path if all(value is None for value in options.values()) else {"path": path, **options}


def source(name: str, json: Any = None, **parts: Any) -> Builder:
    """A source that a plugin brings, by its name there: ``source("units", path="a.bin")``. What the plugin
    wants to know is given by name, or as one value of another kind. ``open(plugins=[…])`` loads it: see
    docs/extend.md."""
    if json is not None and parts:
        raise TypeError("source takes one value, or parts by name, not both")
    return _source(name, parts if json is None else json)


def concat(*sources: Source) -> Builder:
    """One after the other."""
    return _source("concat", [source_json(source, "concat") for source in sources])


def zip_(
    *sources: Source, by: Optional[Literal["position"]] = None, key: Optional[Sequence[str]] = None
) -> Builder:
    """Side by side: the columns of all of them in one sample. Files find each other by their names, or with
    ``by="position"`` by their places. ``key`` has a regular expression for each source; its group is the part
    of the name that is equal: ``key=["(.*)_leftImg8bit", "(.*)_gtFine_labelIds"]``. A source may be a dict
    that gives columns new names: ``{"source": files("mask/*.png"), "rename": {"file": "mask"}}``."""
    entries = [_zipped(source) for source in sources]
    return _source("zip", entries if by is key is None else {"sources": entries, "by": by, "key": key})


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
    inner, given = source_json(source, "subset"), _where(where)
    return _source("subset", {"source": inner, "range": range, "indices": indices, "where": given})


def _where(where: Optional[Where]) -> Optional[Where]:
    """In a patch of a variant, null removes. Within a list it stays what it is."""
    return {"$all": [where]} if where is not None and _has_none(where) else where


def _has_none(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_none, value.values()))
    return any(map(_has_none, value)) if isinstance(value, (list, tuple)) else value is None


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
    return _source(
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
