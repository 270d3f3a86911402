"""``module:object``, and what is known of the loader that it names."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

from ..errors import DefinitionError

#: Loaders whose makers are Python processes, by the name of their class.
_DATA_LOADER = "torch.utils.data"


def find(name: str) -> Any:
    """The object: ``train:loader``, ``train.py:make_loader``, ``package.data:Data.loader``."""
    module, colon, path = name.rpartition(":")
    if not colon or not module or not path:
        raise DefinitionError(f"{name}: expected module:object, such as train:loader or train.py:make_loader")
    if module.endswith(".py"):
        folder, file = os.path.split(os.path.abspath(module))
        module = file[: -len(".py")]
        sys.path.insert(0, folder)
    else:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0] and error.name != module:
            raise
        raise DefinitionError(f"{name}: there is no module {module!r} here: {os.getcwd()}") from None
    for part in path.split("."):
        if not hasattr(found, part):
            raise DefinitionError(f"{name}: {getattr(found, '__name__', found)!r} has no {part!r}")
        found = getattr(found, part)
    return found


class Loader:
    """What is looped over, and how there is more of it when an epoch is over."""

    def __init__(self, name: str) -> None:
        found = find(name)
        #: A function or a class that makes loaders.
        self._make: Optional[Callable[[], Any]] = None
        if _is_made(found):
            self._make = found
            found = _call(name, found)
        if _is_dataset(found):
            raise DefinitionError(
                f"{name} is a dataset ({kind_of(found)}), not a loader: name the DataLoader over it, "
                "or a function that makes one"
            )
        if not hasattr(found, "__iter__"):
            raise DefinitionError(f"{name}: {type(found).__name__} is nothing to loop over")
        self.loader: Any = found
        self._used = False

    def epoch(self) -> Iterator[Any]:
        """Begins one. A generator has one epoch: the next is that of another one, if they can be made."""
        found: Iterator[Any] = iter(self.loader)
        if self._used and found is self.loader and self._make is not None:
            found = iter(self._make())
        self._used = True
        return found


def _is_made(found: Any) -> bool:
    """Whether it has to be called: a class, or a function."""
    return callable(found) and (isinstance(found, type) or not hasattr(found, "__iter__"))


def _call(name: str, make: Callable[[], Any]) -> Any:
    try:
        inspect.signature(make).bind()
    except TypeError as error:
        raise DefinitionError(
            f"{name} can't be called without arguments ({error}): name a loader, or a function "
            "that makes one and takes none"
        ) from None
    except ValueError:
        pass  # some that are written in C don't say what they take
    return make()


def _is_dataset(found: Any) -> bool:
    """Samples by number, as PyTorch and Hugging Face have them: a loader makes batches of those. One that can
    only be looped over may give batches itself."""
    if not (hasattr(found, "__getitem__") and hasattr(found, "__len__")):
        return False
    bases = [(cls.__module__.partition(".")[0], cls.__name__) for cls in type(found).__mro__]
    known = ("torch", "Dataset") in bases or ("datasets", "Dataset") in bases
    return known or not hasattr(found, "__iter__")


def kind_of(loader: Any) -> str:
    """What people call it."""
    for cls in type(loader).__mro__:
        if cls.__module__.startswith(_DATA_LOADER) and cls.__name__ == "DataLoader":
            return "torch.utils.data.DataLoader"
    cls = type(loader)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def number_of(loader: Any, name: str) -> Optional[int]:
    """A setting of the loader's, where it has one."""
    value = getattr(loader, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def depth_of(loader: Any, workers: int) -> int:
    """Batches that are made ahead."""
    each = number_of(loader, "prefetch_factor")
    return max(1, workers * (2 if each is None else each))


def rows_of(batch: Any) -> int:
    """How many samples a batch has: the first axis of the first array in it."""
    if isinstance(batch, Mapping):
        batch = next(iter(batch.values()), None)
        return rows_of(batch)
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    if isinstance(batch, (list, tuple)) and batch:
        first = batch[0]
        # A list of samples has as many entries; a list of fields has arrays in it.
        return rows_of(first) if getattr(first, "shape", None) else len(batch)
    return 1


def facts_of(loader: Any, workers: int, rows: int, cores: float) -> Dict[str, Any]:
    """How it is set up, as ``Facts`` of the evidence has it. A worker makes a whole batch."""
    return {
        "workers": workers,
        "depth": depth_of(loader, workers),
        "claims": 1,
        "rows": rows,
        "slotBytes": 0,
        "rank": 0,
        "world": 1,
        "cores": cores,
        "foreign": kind_of(loader),
        "persistent": getattr(loader, "persistent_workers", False) is True,
    }
