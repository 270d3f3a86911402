"""What all builders share: values as JSON has them, names in two spellings, and the nearest of known
names."""

from __future__ import annotations

import difflib
import math
import os
import re
from typing import Any, Dict, Iterable, Mapping, Optional

from .._generated.torchvision_names import TORCHVISION


def camel(name: str) -> str:
    """``max_size`` as JSON spells it: ``maxSize``. A trailing underscore (``global_``) is Python's, not
    ours."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def snake(name: str) -> str:
    """``maxSize`` as Python spells it: ``max_size``."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


#: What a stream of samples has elsewhere (tf.data, datasets, webdataset), and what does it here.
_OF_STREAMS = {
    "take": "millrace.subset(source, range=(0, n)) is the first n samples, open(steps=n) the first n steps",
    "skip": "millrace.subset(source, range=(n, count)) leaves out the first n samples; a saved state goes on",
    "filter": 'millrace.subset(source, where={"label": [1, 2], "age": {">=": 18}}) is by columns; a function '
    "that raises for what is to go, with on_error=drop, is by samples",
    "map": ".map(fn) of a field is over its values, open(map=fn) over samples, open(batch_map=fn) over "
    "batches",
    "repeat": "a loop is an epoch; open(epochs=n) has n in one loop",
}
for _same, _name in {"where": "filter", "select": "filter", "limit": "take", "head": "take"}.items():
    _OF_STREAMS[_same] = _OF_STREAMS[_name]


def instead(name: str) -> Optional[str]:
    """What does here what a method of this name does elsewhere."""
    return _OF_STREAMS.get(name)


def hint(wrong: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or all of them."""
    known = list(known)
    called, comma, more = TORCHVISION.get(wrong.replace("_", "").lower(), "").partition(",")
    if snake(called) in known:
        return f'it is called "{snake(called)}" here{comma}{more}'
    near = difflib.get_close_matches(snake(wrong), known, n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"


def refuse_unknown(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """A TypeError for the first keyword that ``what`` does not take."""
    known = list(known)
    for name in given:
        if name not in known:
            raise TypeError(f'{what} has no parameter "{name}"; {hint(name, known)}')


def plain(value: Any, where: str = "", nulls: bool = False) -> Any:
    """The value as JSON has it, sharing nothing with the original: tuples and arrays become lists, paths
    become text, numpy's numbers become Python's, 1.0 becomes 1 (JSON in JavaScript has no other spelling),
    and what is None is left out of objects, unless it is a condition of ``where``."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {
            _key(k, where): plain(v, f"{where}.{k}" if where else str(k), nulls or k == "where")
            for k, v in value.items()
            if v is not None or nulls
        }
    if isinstance(value, (list, tuple, range)):
        return [plain(v, f"{where}[{i}]", nulls) for i, v in enumerate(value)]
    if hasattr(value, "tolist"):  # numpy's arrays and scalars, torch's tensors
        return plain(value.tolist(), where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(float(value), where)
    raise TypeError(f"{where or 'the definition'}: {value!r} has no form in JSON")


def _number(value: float, where: str) -> Any:
    if not math.isfinite(value):
        raise ValueError(f"{where or 'the definition'}: {value} has no form in JSON")
    # Beyond 2**53 a float says less than its digits would pretend.
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _key(key: Any, where: str) -> str:
    if isinstance(key, str):
        return key
    raise TypeError(f"{where or 'the definition'}: keys are texts, and {key!r} is none")


def patch_between(before: Any, after: Any) -> Optional[Any]:
    """The least JSON merge patch (RFC 7396) that makes ``after`` of ``before``; None when they are equal."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None if before == after and type(before) is type(after) else after
    patch: Dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        change = patch_between(before[key], value) if key in before else value
        if change is not None:
            patch[key] = change
    return patch or None
