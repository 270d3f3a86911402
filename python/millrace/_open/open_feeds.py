"""Names of the feeds that are open in this process, no two alike; and what an open feed refuses, with why."""

from __future__ import annotations

import weakref
from typing import Any, Mapping, NoReturn, Protocol

from ..errors import StateError


class _Named(Protocol):
    @property
    def closed(self) -> bool: ...


#: Open feeds by name.
_open: "weakref.WeakValueDictionary[str, _Named]" = weakref.WeakValueDictionary()


def name_for(stream: _Named, name: str) -> str:
    """The name under which a feed logs: its own, or with a number, where another one is open under it."""
    found, number = name, 1
    while (other := _open.get(found)) is not None and not other.closed:
        number += 1
        found = f"{name} ({number})"
    _open[found] = stream
    return found


def check_state(state: Any) -> None:
    """Says what is given as a state and is none."""
    if not isinstance(state, Mapping):
        kind = type(state).__name__
        raise StateError(f"a state is the dict that state_dict() gave, not {kind}: read its file first")
    if "epoch" in state and "position" in state and "order" in state:
        return
    if not state:
        raise StateError("this is no state of a feed, but an empty dict: leave it out to begin at the start")
    for key, part in state.items():
        if isinstance(part, Mapping) and {"epoch", "position", "order"} <= set(part):
            raise StateError(
                f"this is no state of a feed, but something that holds one: give [{key!r}] of it"
            )
    other = "_snapshot" in state or "_iterator_finished" in state or "_sampler_iter_state" in state
    whose = "PyTorch's StatefulDataLoader" if other else "something else"
    keys = ", ".join(map(str, list(state)[:6])) + (", …" if len(state) > 6 else "")
    raise StateError(
        f"this is no state of a feed, but of {whose}, with the keys {keys}: "
        "give what state_dict() of a feed gave"
    )


class Opened:
    """What feeds and views refuse with a reason: to be copied or pickled, or asked for samples by number."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is open: it can't be copied, pickled or sent to another process. "
            "Copy or send the definition (the builder, the dict or the path), and open it there"
        )

    def __getitem__(self, index: Any) -> NoReturn:
        raise TypeError(
            "this gives finished batches, in order, and has no samples by number: loop over it as it is, "
            "`for batch in feed.torch(device=…)`, in place of a DataLoader, not inside one. Workers, "
            "batching and shuffling are the feed's own"
        )
