"""The random generators that a user's code draws from, seeded so that a sample is the same in every process.

Those of random, numpy.random and torch are global. Others are held by a dataset, its transforms, a function
or a module of the user's: they are found by following references from what was loaded. Imported by worker.py
as a neighbour, like worker_values.py.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from contextlib import contextmanager
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import islice
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType

TYPE_CHECKING = False  # typing's own, without the time that it takes to load typing
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, TypeVar

    from numpy.random import Generator

    T = TypeVar("T")
    #: Of a generator: what seeds it with a number of 256 bits; what notes where it is, for a way back.
    Handle = Tuple[Callable[[int], Any], Callable[[], Callable[[], Any]]]

#: How far references are followed: in steps, in entries of one container, in objects altogether.
_STEPS, _ENTRIES, _OBJECTS = 12, 100, 10_000
#: These refer to no generator of the user's.
_LEAVES = (str, bytes, bytearray, int, float, complex, type(None), ModuleType, type)
_STANDARD = os.path.dirname(os.__file__)


def seed(key: int) -> None:
    """Seeds every global generator that is loaded."""
    if "random" in sys.modules:
        sys.modules["random"].seed(key)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(key & 0xFFFFFFFF)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        torch.default_generator.manual_seed(key >> 65)  # 63 bits; torch.manual_seed would bother CUDA as well


def generator(key: int) -> Generator:
    """The generator that a user's function gets."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=key))


class Seeds:
    """Seeds all generators that the code of some objects draws from: ``Seeds(dataset, function)(key)``."""

    def __init__(self, *roots: Any) -> None:
        self._roots = roots
        self._found: Dict[str, Any] = {}
        self._handles: List[Tuple[bytes, Handle]] = []
        #: Whether code may have made generators since they were looked for.
        self.stale = True
        self._look()

    def __call__(self, key: int) -> None:
        seed(key)
        secret = key.to_bytes(16, "little")
        for path, (reseed, _) in self._handles:
            # Each draws numbers of its own, which hang on the place where it was found.
            reseed(int.from_bytes(blake2b(path, key=secret, digest_size=32).digest(), "little"))

    def run(self, key: int, make: Callable[[], T]) -> T:
        """What ``make`` gives with seeded generators. If its first call makes others, it is called again."""
        self(key)
        made = make()
        if self.stale:
            self.stale = False
            if self._look():
                self(key)
                return make()
        return made

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Puts all generators back at the end: for code that runs in the user's own process."""
        handles = [_handle(value) for value in [*_global_generators(), *self._found.values()]]
        back = [handle[1]() for handle in handles if handle is not None]
        try:
            yield
        finally:
            for put in back:
                put()

    def _look(self) -> bool:
        """Looks for generators; true when there are others than before."""
        before, self._found = self._found, {}
        # What was seen stays referred to, so that nothing new gets its id.
        seen = {id(value): value for value in _global_generators()}
        ahead = deque((f"{i}", root) for i, root in enumerate(self._roots))
        while ahead and len(seen) < _OBJECTS:
            path, value = ahead.popleft()
            if isinstance(value, _LEAVES) or id(value) in seen:
                continue
            seen[id(value)] = value
            if _handle(value) is not None:
                self._found[path] = value
            elif path.count("\n") < _STEPS:
                ahead.extend((f"{path}\n{name}", part) for name, part in _parts(value))
        handles = [(path.encode(), _handle(value)) for path, value in self._found.items()]
        self._handles = [(path, handle) for path, handle in handles if handle is not None]
        return self._found != before


def _global_generators() -> List[Any]:
    found = []
    if "random" in sys.modules:
        found.append(sys.modules["random"].seed.__self__)
    if "numpy" in sys.modules:
        found.append(sys.modules["numpy"].random.get_state.__self__)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        found.append(torch.default_generator)
    return found


def _handle(value: Any) -> Optional[Handle]:
    """How a generator is seeded; None of anything else."""
    random, np, torch = (sys.modules.get(name) for name in ("random", "numpy.random", "torch"))
    if random and isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
        return value.seed, lambda: partial(value.setstate, value.getstate())
    if np and isinstance(value, np.RandomState):
        if value.get_state(legacy=False)["bit_generator"] != "MT19937":
            return None  # it can't be seeded
        return lambda key: value.seed(key & 0xFFFFFFFF), lambda: partial(value.set_state, value.get_state())
    if np and isinstance(value, np.Generator):
        return _handle(value.bit_generator)
    if np and isinstance(value, np.BitGenerator):
        return partial(_reseed, value), lambda: partial(setattr, value, "state", value.state)
    if torch and hasattr(torch, "Generator") and isinstance(value, torch.Generator):
        return lambda key: value.manual_seed(key >> 193), lambda: partial(value.set_state, value.get_state())
    return None


def _reseed(bits: Any, key: int) -> None:
    name = type(bits).__name__
    if name in ("PCG64", "PCG64DXSM"):  # default_rng's, by its words: through a seed sequence it takes 25 µs
        state = {"state": key >> 128, "inc": key & ((1 << 128) - 1) | 1}
        bits.state = {"bit_generator": name, "state": state, "has_uint32": 0, "uinteger": 0}
    else:
        bits.state = type(bits)(key).state


def _parts(value: Any) -> Iterator[Tuple[str, Any]]:
    """What a value refers to, by name; the names are the same in every process."""
    if isinstance(value, dict):
        yield from ((str(name), part) for name, part in islice(value.items(), _ENTRIES))
    elif isinstance(value, (list, tuple, deque)):
        yield from ((str(i), part) for i, part in enumerate(islice(value, _ENTRIES)))
    elif isinstance(value, FunctionType):
        yield "defaults", (value.__defaults__, value.__kwdefaults__)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            yield name, _attribute(cell, "cell_contents")
        if _of_the_user(value.__module__):
            yield from _named_globals(value.__code__, value.__globals__)
    elif isinstance(value, (MethodType, BuiltinMethodType, staticmethod, classmethod, property)):
        yield from ((name, _attribute(value, name)) for name in ("__self__", "__func__", "fget"))
    elif isinstance(value, partial):
        yield "partial", (value.func, value.args, value.keywords)
    yield from islice((_attribute(value, "__dict__") or {}).items(), _ENTRIES)
    for base in type(value).__mro__:
        for name in _names(base.__dict__.get("__slots__", ())):
            yield name, _attribute(value, name)
        if _of_the_user(base.__module__):
            # Methods, for the globals that they name, and what stands in the class.
            yield from ((f"{base.__name__}.{name}", part) for name, part in list(vars(base).items()))


def _names(slots: Any) -> Tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name)
    except Exception:  # an empty cell or slot, or the code of a property
        return None


def _named_globals(code: CodeType, variables: Dict[str, Any]) -> Iterator[Tuple[str, Any]]:
    yield from ((name, variables[name]) for name in code.co_names if name in variables)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named_globals(inner, variables)


@lru_cache(maxsize=None)
def _of_the_user(module: str) -> bool:
    """Whether a module is neither Python's own nor an installed package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module in ("__main__", "__mp_main__")
    return not (file.startswith(_STANDARD) or "-packages" in file)
