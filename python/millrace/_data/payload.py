"""Objects of the user's on their way to the Python processes of the engine: pickled into memory that has no
name and is gone with this process. The path under which it is found keeps it alive."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import io
import os
import pickle
import stat
import sys
import tempfile
import weakref
from typing import Any, Dict, List, Optional, Tuple

from ..errors import DefinitionError

_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
#: How deep an object is searched for what can't be pickled.
_DEPTH = 4
_GUARD = """
    if __name__ == "__main__":
        main()"""


class PayloadPath(str):
    """Where a payload can be read, as long as this text, or one made from it by ``after``, is referred to."""

    _memory: Any

    def after(self, prefix: str) -> "PayloadPath":
        text = PayloadPath(prefix + self)
        text._memory = self._memory
        return text


class _Memory:
    """A file without a name, or, where there are none, a temporary one."""

    def __init__(self, data: bytes) -> None:
        if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
            file = os.memfd_create("millrace")
            self.path = f"/proc/{os.getpid()}/fd/{file}"
            weakref.finalize(self, os.close, file)
        else:
            file, self.path = tempfile.mkstemp(prefix="millrace-")
            weakref.finalize(self, _remove, file, self.path)
        view = memoryview(data)
        while len(view) > 0:
            view = view[os.write(file, view) :]


def _remove(file: int, path: str) -> None:
    os.close(file)
    os.unlink(path)


def command() -> List[str]:
    """The interpreter and the program of a Python process of the engine."""
    return [sys.executable or "python3", _WORKER]


def write_payload(kind: str, value: Any, what: str) -> Tuple[PayloadPath, str]:
    """Pickles a value; returns where it can be read and a hash of it. ``what`` names it in messages."""
    if os.environ.get("MILLRACE_WORKER") == "1":
        raise DefinitionError(
            f"{what} is made again in a process that only runs it: the script does its work when it is "
            f"imported. Put that work, and the feed that names it, under{_GUARD}\n"
            "or put it into a module of its own, or install cloudpickle"
        )
    data, main = _pickled(value, what)
    setting = {
        "kind": kind,
        "path": [os.path.abspath(entry) for entry in sys.path],
        "main": main,
        "argv": sys.argv,
        "output": _shared_stderr(),
    }
    memory = _Memory(pickle.dumps(setting) + data)
    path = PayloadPath(memory.path)
    path._memory = memory
    return path, hashlib.sha256(data).hexdigest()[:32]


def _shared_stderr() -> str:
    """Where the processes write what they print.

    They open it anew, with a place of their own: in a log file the trainer, too, has to write at the end, or
    it would overwrite their lines.
    """
    try:
        if stat.S_ISREG(os.fstat(2).st_mode):
            fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_APPEND)
    except OSError:
        pass  # closed, or it may not be changed: what they print may be lost, and nothing else
    return f"/proc/{os.getpid()}/fd/2"


def _pickled(value: Any, what: str) -> Tuple[bytes, Optional[Dict[str, str]]]:
    """The value's pickle, and what of the main program is needed to read it."""
    if importlib.util.find_spec("cloudpickle") is not None:
        import cloudpickle

        try:
            return cloudpickle.dumps(value), None
        except Exception as error:
            raise _unpicklable(value, what, error) from error
    out = io.BytesIO()
    try:
        pickle.Pickler(out, protocol=4).dump(value)
    except Exception as error:
        raise _unpicklable(value, what, error) from error
    data = out.getvalue()
    return data, _main(what) if b"__main__" in data else None


def _main(what: str) -> Dict[str, str]:
    """How another process finds what the main program defines."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name is not None:
        return {"name": name}
    path = getattr(main, "__file__", None)
    if path is None or not os.path.exists(path):
        raise DefinitionError(
            f"{what} is defined in an interactive session, where no other process finds it: "
            "pip install cloudpickle, or put it into a module"
        )
    return {"path": os.path.abspath(path)}


def _unpicklable(value: Any, what: str, error: BaseException) -> DefinitionError:
    path, culprit = _culprit(value, what, _DEPTH)
    path = path.replace("['dataset']", "", 1)  # of our own wrapping
    hint = "pip install cloudpickle, or use a function with a name, at the top of a module"
    if not callable(culprit) or "cloudpickle" in sys.modules:
        hint = (
            "open it when it is first used (in __getitem__ or in the function), not when the object is made"
        )
    return DefinitionError(
        f"{path}, of type {type(culprit).__name__}, can't be sent to another process ({error}): {hint}"
    )


def _culprit(value: Any, path: str, depth: int) -> Tuple[str, Any]:
    """The innermost part of a value that can't be pickled by itself."""
    if depth > 0:
        for name, part in _parts(value):
            try:
                pickle.dumps(part)
            except Exception:
                return _culprit(part, path + name, depth - 1)
    return path, value


def _parts(value: Any) -> List[Tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{i}]", part) for i, part in enumerate(value)]
    return [(f".{name}", part) for name, part in getattr(value, "__dict__", {}).items()]


def without_payloads(request: Any) -> Any:
    """A request without what differs from process to process: several of them may ask for the same."""
    if isinstance(request, dict):
        python = "payload" in request or str(request.get("module", "")).startswith("python:")
        own = ("payload", "hash") if "payload" in request else ("module",)
        return {key: without_payloads(v) for key, v in request.items() if not (python and key in own)}
    return [without_payloads(v) for v in request] if isinstance(request, list) else request
