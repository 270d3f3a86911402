"""Values on their way between the engine and a user's code: packages/core/python/wire.ts, in Python.

Imported by worker.py as a neighbour, outside of the package, so that nothing else of it is loaded.
"""

from __future__ import annotations

import json
import math
import os
import sys

TYPE_CHECKING = False  # typing's own, without the time that it takes to load typing
if TYPE_CHECKING:
    import mmap
    from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

    from numpy.typing import NDArray

    Bytes = Union[bytes, bytearray, memoryview]
    #: Where bytes lie: ``at`` and ``bytes`` in the memory, or ``buffer``, the number of one behind the frame.
    WireBytes = Dict[str, int]
    WireValue = Union[int, float, str, Dict[str, Union[str, WireBytes]]]

#: Arrays begin at multiples of this in the shared memory.
_ALIGN = 64


class Room:
    """A stretch of the shared memory, filled from its start; what finds no room there goes behind the
    frame."""

    def __init__(self, memory: mmap.mmap, room: Tuple[int, int]) -> None:
        self.memory = memory
        self.next, self._end = room
        self.buffers: List[Bytes] = []

    def take(self, length: int) -> Optional[int]:
        """Offset of so many bytes, or None."""
        at = -(-self.next // _ALIGN) * _ALIGN
        if at + length > self._end:
            return None
        self.next = at + length
        return at

    def bytes(self, data: Bytes) -> WireBytes:
        at = self.take(len(data))
        if at is None:
            self.buffers.append(data)
            return {"buffer": len(self.buffers) - 1}
        self.memory[at : at + len(data)] = data
        return {"at": at, "bytes": len(data)}


# generated: dtypes, by npm run generate from packages/core/basics/dtype.ts
_DTYPES = {
    "u8": "u1",
    "i8": "i1",
    "u16": "<u2",
    "i16": "<i2",
    "i32": "<i4",
    "u32": "<u4",
    "i64": "<i8",
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
    "bool": "?",
    "u64": "<u8",
}
# end

_MOST_EXACT = 2**53 - 1
_headers: Dict[Tuple[str, Tuple[int, ...]], bytes] = {}


def _npy_header(array: NDArray[Any]) -> bytes:
    """The .npy header of an array in C order; few kinds of arrays come, again and again."""
    key = (array.dtype.str, array.shape)
    header = _headers.get(key)
    if header is None:
        import io

        from numpy.lib import format as npy

        out = io.BytesIO()
        about = {"descr": npy.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
        npy.write_array_header_1_0(out, about)
        if len(_headers) > 4096:
            _headers.clear()
        header = _headers[key] = out.getvalue()
    return header


def _pack_array(array: NDArray[Any], room: Room) -> WireValue:
    import numpy as np

    if array.ndim == 0:
        return pack(array.item(), room)
    if array.dtype.kind not in "biuf":
        return pack(array.tolist(), room)
    header = _npy_header(array)
    at = room.take(len(header) + array.nbytes)
    if at is None:
        return {"npy": room.bytes(header + np.ascontiguousarray(array).tobytes())}
    room.memory[at : at + len(header)] = header
    target = np.frombuffer(room.memory, array.dtype, array.size, at + len(header))
    target.reshape(array.shape)[...] = array  # the only copy, whatever the strides
    return {"npy": {"at": at, "bytes": len(header) + array.nbytes}}


def as_array(value: Any) -> Optional[NDArray[Any]]:
    """The value as a numpy array, if it is an array, a tensor or a picture of some library; None
    otherwise."""
    module = type(value).__module__.partition(".")[0]
    if module == "torch":
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        array: NDArray[Any] = value.numpy()
        return array
    if module == "PIL":
        import numpy as np

        return np.asarray(value if value.mode in ("L", "RGB") else value.convert("RGB"))
    if hasattr(value, "__array__"):
        import numpy as np

        return np.asarray(value)
    return None


def pack(value: Any, room: Room) -> WireValue:
    """A value of the user's, for the engine."""
    if isinstance(value, (bool, int)):
        # As text where a double of JavaScript does not hold it.
        return int(value) if abs(value) <= _MOST_EXACT else {"json": str(int(value))}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": _float_name(value)}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"raw": room.bytes(value)}
    array = as_array(value)
    if array is None and isinstance(value, (list, tuple)) and "numpy" in sys.modules:
        array = _numbers(value)
    if array is not None:
        return _pack_array(array, room)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if value is None or isinstance(value, (dict, list, tuple)):
        return {"json": json.dumps(value, default=_plain, allow_nan=False)}
    raise TypeError(
        f"a value of type {type(value).__name__} can't be fed: give numbers, text, bytes, arrays, tensors or "
        "pictures"
    )


def _plain(value: Any) -> Any:
    """What json does not know: numbers and arrays of numpy and torch."""
    array = as_array(value)
    if array is None:
        raise TypeError(f"a value of type {type(value).__name__} can't stand in JSON")
    return array.tolist()


def _float_name(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _numbers(values: Iterable[Any]) -> Optional[NDArray[Any]]:
    """A list of numbers, or of equally long lists of them, as an array; None for anything else."""
    import numpy as np

    try:
        array = np.asarray([as_array(v) if hasattr(v, "__array__") else v for v in values])
    except ValueError:
        return None
    return array if array.dtype.kind in "biuf" and array.size > 0 else None


def pack_columns(
    sample: Any, columns: Optional[Iterable[str]], room: Room, names: Optional[Sequence[str]] = None
) -> Dict[str, WireValue]:
    """A sample as columns: a dict by its keys, a tuple by position, anything else as column "0"."""
    if isinstance(sample, dict):
        pairs = [(str(name), value) for name, value in sample.items()]
    elif isinstance(sample, (tuple, list)):
        if hasattr(sample, "_fields") and not names:
            names = sample._fields  # a namedtuple
        pairs = [(names[i] if names else str(i), value) for i, value in enumerate(sample)]
    else:
        pairs = [(names[0] if names else "0", sample)]
    wanted = set(columns) if columns else None
    return {
        name: pack(value, room)
        for name, value in pairs
        if value is not None and (wanted is None or name in wanted)
    }


def unpack(value: Any, memory: mmap.mmap, buffers: Sequence[Bytes]) -> Any:
    """A value of the engine's, for the user's function: always a copy, which may be kept and changed."""
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "json" in value:
        return json.loads(value["json"])
    if "raw" in value:
        return bytes(_bytes(value["raw"], memory, buffers))
    import numpy as np

    data = bytearray(_bytes(value["array"], memory, buffers))
    return np.frombuffer(data, _DTYPES[value["dtype"]]).reshape(value["shape"])


def _bytes(where: WireBytes, memory: mmap.mmap, buffers: Sequence[Bytes]) -> Bytes:
    if "buffer" in where:
        return buffers[where["buffer"]]
    return memoryview(memory)[where["at"] : where["at"] + where["bytes"]]
