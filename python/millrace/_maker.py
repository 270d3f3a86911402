"""The program of a Python maker process: a user's datasets and functions run here, asked by one thread of the
engine.

Run as a file, not as a module, so that nothing of the package is imported before the user's own code. It
reads requests from standard input and answers on standard output until its input ends. Frames, values and the
shared memory (descriptor 3) are those of src/source/python-wire.ts:

    frame   u32 length of the header | header, JSON | buffers that found no room in the memory
    memory  u32 number of the ask that is being answered | 60 unused bytes | rows | results of functions

Results depend on what is asked and on nothing else: before every sample and every call the global generators
of random, numpy and torch are seeded with the ask's own key.
"""

import faulthandler
import json
import math
import mmap
import os
import signal
import struct
import sys
import time
import traceback

#: Arrays begin at multiples of this in the shared memory.
_ALIGN = 64
#: Answers are sent together, unless they took longer than this (seconds): the engine goes on with some.
_TOGETHER = 0.0005
#: … or come to more bytes than this.
_TOGETHER_BYTES = 32768
#: Lines of a traceback that go into an error.
_TRACE_LINES = 6

_PR_SET_PDEATHSIG = 1


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class _Frames:
    """Frames over two descriptors that nothing else in this process can reach by printing."""

    def __init__(self):
        self._out = bytearray()
        self._flushed = 0.0
        self._read = os.dup(0)
        self._write = os.dup(1)
        for descriptor in (self._read, self._write):
            os.set_blocking(descriptor, True)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)  # what the user prints goes where errors go

    def receive(self):
        head = self._exactly(4)
        if head is None:
            return None
        header = json.loads(bytes(self._exactly(struct.unpack("<I", head)[0])))
        return header, [self._exactly(length) for length in header["buffers"]]

    def send(self, header, buffers):
        if buffers:
            header["buffers"] = [len(data) for data in buffers]
        text = _encode(header).encode()
        self._out += struct.pack("<I", len(text))
        self._out += text
        for data in buffers:
            self.flush()
            self._all(data)
        if len(self._out) > _TOGETHER_BYTES or time.monotonic() - self._flushed > _TOGETHER:
            self.flush()

    def flush(self):
        if self._out:
            self._all(self._out)
            self._out = bytearray()
        self._flushed = time.monotonic()

    def _exactly(self, length):
        data = bytearray(length)
        view = memoryview(data)
        at = 0
        while at < length:
            got = os.readv(self._read, [view[at:]])
            if got == 0:
                return None
            at += got
        return data

    def _all(self, data):
        view = memoryview(data)
        while len(view) > 0:
            view = view[os.write(self._write, view) :]


class _Room:
    """A stretch of the shared memory, filled from its start; what finds no room there goes behind the
    frame."""

    def __init__(self, memory, room):
        self.memory = memory
        self.next, self._end = room
        self.buffers = []

    def take(self, length):
        """Offset of so many bytes, or None."""
        at = -(-self.next // _ALIGN) * _ALIGN
        if at + length > self._end:
            return None
        self.next = at + length
        return at

    def bytes(self, data):
        at = self.take(len(data))
        if at is None:
            self.buffers.append(data)
            return {"buffer": len(self.buffers) - 1}
        self.memory[at : at + len(data)] = data
        return {"at": at, "bytes": len(data)}


# ------------------------------------------------------------------------------------ values

_DTYPES = {"u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "i64": "<i8"}
_DTYPES.update({"f16": "<f2", "f32": "<f4", "f64": "<f8", "bool": "?"})
_headers = {}


def _npy_header(array):
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


def _pack_array(array, room):
    import numpy as np

    if array.ndim == 0:
        return _pack(array.item(), room)
    if array.dtype.kind not in "biuf":
        return _pack(array.tolist(), room)
    header = _npy_header(array)
    at = room.take(len(header) + array.nbytes)
    if at is None:
        return {"npy": room.bytes(header + np.ascontiguousarray(array).tobytes())}
    room.memory[at : at + len(header)] = header
    target = np.frombuffer(room.memory, array.dtype, array.size, at + len(header))
    target.reshape(array.shape)[...] = array  # the only copy, whatever the strides
    return {"npy": {"at": at, "bytes": len(header) + array.nbytes}}


def as_array(value):
    """The value as a numpy array, if it is an array, a tensor or a picture of some library; None
    otherwise."""
    module = type(value).__module__.partition(".")[0]
    if module == "torch":
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        return value.numpy()
    if module == "PIL":
        import numpy as np

        return np.asarray(value if value.mode in ("L", "RGB") else value.convert("RGB"))
    if hasattr(value, "__array__"):
        import numpy as np

        return np.asarray(value)
    return None


def _pack(value, room):
    """A value of the user's, for the engine."""
    if isinstance(value, (bool, int)):
        return int(value)
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
        return os.fspath(value)
    if value is None or isinstance(value, (dict, list, tuple)):
        return {"json": json.dumps(value, default=_plain, allow_nan=False)}
    raise TypeError(
        f"a value of type {type(value).__name__} can't be fed: give numbers, text, bytes, arrays, tensors or "
        "pictures"
    )


def _plain(value):
    """What json does not know: numbers and arrays of numpy and torch."""
    array = as_array(value)
    if array is None:
        raise TypeError(f"a value of type {type(value).__name__} can't stand in JSON")
    return array.tolist()


def _float_name(value):
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _numbers(values):
    """A list of numbers, or of equally long lists of them, as an array; None for anything else."""
    import numpy as np

    try:
        array = np.asarray([as_array(v) if hasattr(v, "__array__") else v for v in values])
    except ValueError:
        return None
    return array if array.dtype.kind in "biuf" and array.size > 0 else None


def _pack_columns(sample, columns, room, names=None):
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
        name: _pack(value, room)
        for name, value in pairs
        if value is not None and (wanted is None or name in wanted)
    }


def _unpack(value, memory, buffers):
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


def _bytes(where, memory, buffers):
    if "buffer" in where:
        return buffers[where["buffer"]]
    return memoryview(memory)[where["at"] : where["at"] + where["bytes"]]


# ------------------------------------------------------------------------------------ random numbers


def _seed(key):
    """Seeds every global generator that is loaded, so that a sample is the same whoever makes it."""
    if "random" in sys.modules:
        sys.modules["random"].seed(key)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(key & 0xFFFFFFFF)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        torch.default_generator.manual_seed(key >> 65)  # 63 bits; torch.manual_seed would bother CUDA as well


def _generator(key):
    import numpy as np

    return np.random.Generator(np.random.Philox(key=key))


# ------------------------------------------------------------------------------------ what is asked


class _Dataset:
    """A dataset of the user's, by row. ``count`` is given for iterables only."""

    def __init__(self, dataset, names, function, count):
        self._dataset = dataset
        self._names = names
        self._function = function
        self._count = count
        self._epoch = None
        self._passes = {}

    def columns(self, ask, room):
        row, epoch = ask["row"], ask["epoch"]
        key = int(ask["key"], 16)
        if epoch != self._epoch and hasattr(self._dataset, "set_epoch"):
            self._dataset.set_epoch(epoch)
        self._epoch = epoch
        if self._count is None:
            _seed(key)
            sample = self._dataset[row]
        else:
            sample = self._pass(ask["stream"], epoch, row).go(row)
        if self._function is not None:
            sample = self._function(sample, _generator(key))
        return _pack_columns(sample, ask["columns"], room, self._names)

    def _pass(self, stream, epoch, row):
        """The pass that leads to a row: a new one when the row is behind, or the epoch another one."""
        going = self._passes.get(stream)
        if going is None or going.epoch != epoch or row < going.row:
            going = self._passes[stream] = _Pass(self._dataset, self._count, epoch)
        return going


class _Pass:
    """One way through an iterable, from its beginning."""

    def __init__(self, dataset, count, epoch):
        self.epoch = epoch
        self.row = 0
        self._count = count
        _seed(epoch + 1)
        self._iterator = iter(dataset if hasattr(dataset, "__iter__") else dataset())

    def go(self, row):
        """The sample of a row that is not behind."""
        while True:
            # Rows that are passed over draw the same random numbers as those that are wanted.
            _seed(((self.epoch + 1) << 64) + self.row)
            self.row += 1
            try:
                sample = next(self._iterator)
            except StopIteration:
                passed, self.row = self.row - 1, row + 1
                self._iterator = iter(())  # what comes after fails at once
                raise ValueError(
                    f"the iterable ended after {passed} samples, but {self._count} were announced; "
                    "a generator also ends at its first error"
                ) from None
            except Exception:
                if self.row > row:
                    raise
                continue  # it was the error of a row that nobody asked for here
            if self.row > row:
                return sample


class _Maker:
    def __init__(self, frames, memory):
        self._frames = frames
        self._memory = memory
        self._loaded = {}

    def run(self):
        while True:
            request = self._frames.receive()
            if request is None:
                return
            header, buffers = request
            room = _Room(self._memory, header["room"])
            for ask in header["asks"]:
                # Whatever kills this process is told by this number.
                struct.pack_into("<I", self._memory, 0, ask["t"])
                room.buffers = []
                before = room.next
                try:
                    reply = self._answer(ask, room, buffers)
                except Exception as error:
                    room.next, room.buffers = before, []
                    reply = {"error": _told(error)}
                reply["t"] = ask["t"]
                reply["next"] = room.next
                self._frames.send(reply, room.buffers)
            self._frames.flush()

    def _answer(self, ask, room, buffers):
        if "load" in ask:
            self._loaded[ask["payload"]] = _load(ask["load"])
            return {}
        if "drop" in ask:
            self._loaded.pop(ask["payload"], None)
            return {}
        target = self._loaded[ask["payload"]]
        if "row" in ask:
            return {"columns": target.columns(ask, room)}
        key = int(ask["key"], 16)
        _seed(key)
        if "sample" in ask:
            sample = {name: _unpack(value, self._memory, buffers) for name, value in ask["sample"].items()}
            result = target(sample, _generator(key))
            if not isinstance(result, dict):
                raise TypeError(f"a function over the sample returns a dict, not {type(result).__name__}")
            return {"columns": _pack_columns(result, None, room)}
        return {"value": _pack(target(_unpack(ask["call"], self._memory, buffers), _generator(key)), room)}


def _load(path):
    """Reads what the trainer pickled: how to set this interpreter up, then the object itself."""
    import pickle

    with open(path, "rb") as file:
        setting = pickle.load(file)
        for entry in setting["path"]:
            if entry not in sys.path:
                sys.path.append(entry)
        _speak_to(setting.get("output"))
        if setting.get("main") is not None:
            _import_main(setting["main"])
        loaded = pickle.load(file)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    if setting["kind"] == "dataset":
        return _Dataset(loaded["dataset"], loaded["columns"], loaded["map"], loaded["count"])
    return loaded


def _speak_to(path):
    """What the user's code prints belongs to the trainer, not among the engine's last words."""
    if path is None:
        return
    try:
        # Not to wait for a reader of a pipe that has none any more.
        output = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return  # a socket, or another user's
    os.set_blocking(output, True)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


def _import_main(main):
    """Makes what the trainer's program defines known here, as multiprocessing does: under another name, so
    that what stands under ``if __name__ == "__main__"`` is left out."""
    import runpy
    import types

    if getattr(sys.modules["__main__"], "_millrace_main", None) == main:
        return
    module = types.ModuleType("__mp_main__")
    module._millrace_main = main
    if "name" in main:
        found = runpy.run_module(main["name"], run_name="__mp_main__", alter_sys=True)
    else:
        found = runpy.run_path(main["path"], run_name="__mp_main__")
    module.__dict__.update(found)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def _told(error):
    """An exception in a few lines: what, and where in the user's code."""
    lines = traceback.format_exception_only(type(error), error)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    where = [line for text in traceback.format_list(frames) for line in text.rstrip().split("\n")]
    return "\n".join(["".join(lines).strip(), *where[-_TRACE_LINES:]])


def _die_with_the_engine():
    """A process that is busy does not notice the end of its input: the kernel ends it when its thread is
    gone."""
    parent = os.getppid()
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (AttributeError, OSError):
        return  # not Linux
    if os.getppid() != parent:
        os._exit(1)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer
    _die_with_the_engine()
    faulthandler.enable()
    frames = _Frames()
    memory = mmap.mmap(3, 0)
    os.close(3)
    sys.path.pop(0)  # this file's folder: its neighbours are not for others to import by these names
    sys.stdout.reconfigure(line_buffering=True)
    try:
        _Maker(frames, memory).run()
    except BrokenPipeError:
        os._exit(0)  # nobody is left to answer


if __name__ == "__main__":
    main()
