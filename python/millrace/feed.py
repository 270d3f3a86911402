"""``Feed``: batches of a feed, as an iterable. One ``for`` is one epoch.

import millrace

feed = millrace.Feed("cats.json")
for batch in feed.torch(device="cuda"):
    train(batch["image"], batch["label"])
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._client.client import Place, needed_changes
from ._client.meeting import Meeting
from ._data.functions import with_map
from ._data.payload import command, without_payloads
from ._generated.protocol import DEPTH, TIMEOUT
from ._open.definition import resolve
from ._open.open_feeds import Opened, check_state, name_for
from ._open.options import named
from ._open.ranks import find_rank
from ._stream import fork
from ._stream.loop import ONCE, Limits, Loop, Once
from ._stream.stats import Stats, say
from ._stream.stream import Stream
from .errors import DefinitionError, MillraceError, StateError
from .views import NumpyView, View

log = logging.getLogger("millrace")

#: What a timeout of float("inf") comes to (seconds): JSON has no inf.
FOREVER = 1e9
#: How often a dead engine is replaced.
RESTARTS = 3


class Feed(Opened):
    """Batches of a feed, made by an engine beside this process, in shared memory.

    ``feed`` is a path (``cats.json``, ``cats.feed.ts``, ``cats.json#val``), a dict, or a builder; None with
    ``socket`` for the feed that a running engine was given. The options never change which samples come, in
    which order, with which values:

    * ``rank``, ``world``: the data-parallel rank; by default that of ``mesh`` (a DeviceMesh of one dimension
      such as ``mesh["dp"]``, or a JAX sharding), of torch.distributed or JAX, or of the launcher.
    * ``members``: how many processes on this host take part in this rank (tensor parallelism) and see its
      batches.
    * ``workers``: threads. ``depth``: batches made ahead; ``max_depth``: what ``tune`` may raise it to.
    * ``epochs``, ``steps``: one loop covers that much instead of one epoch; ``epochs=None`` never ends.
    * ``state``: goes on from there. ``timeout``: seconds that one sample, or on a GPU one batch, may take.
    * ``cache``, ``scratch``: bytes for the block cache, and for the workspace of one worker.
    * ``allow_code``: a JSON file or a dict may run the code that it names (functions, datasets, kernels). Not
      needed for a builder or a module: see docs/trust.md.
    * ``restart``: replaces an engine that died, at most that often (True: 3 times).
    * ``tuple``: names of fields; loops then give tuples of them. ``map``: a function ``(sample, rng)`` over
      every sample, in Python processes of the engine. ``batch_map``: applied to every finished batch.
    """

    @named
    def __init__(
        self,
        feed: Any = None,
        *,
        variant: Optional[str] = None,
        rank: Optional[int] = None,
        world: Optional[int] = None,
        mesh: Any = None,
        members: int = 1,
        workers: Union[int, str] = "auto",
        depth: int = DEPTH,
        max_depth: Optional[int] = None,
        epochs: Union[int, None, Once] = ONCE,
        steps: Optional[int] = None,
        state: Optional[Mapping[str, Any]] = None,
        cache: Optional[int] = None,
        scratch: Optional[int] = None,
        timeout: float = TIMEOUT,
        restart: Union[bool, int] = True,
        socket: "str | os.PathLike[str] | None" = None,
        allow_code: bool = False,
        tuple: Optional[Sequence[str]] = None,
        map: Optional[Callable[[Any, Any], Any]] = None,
        batch_map: Optional[Callable[[Any], Any]] = None,
    ) -> None:
        self._stats = Stats()
        if feed is None and socket is None:
            raise DefinitionError("give a feed, or the socket of a running engine")
        asked, name = resolve(feed, variant)
        if allow_code:
            asked["allowCode"] = True
        if map is not None:
            asked = with_map(asked, map)
        #: The definition as JSON, where Python knows it.
        self.definition: Optional[Mapping[str, Any]] = asked.get("feed")
        self.tuple = tuple
        self.batch_map = batch_map
        self._limits = Limits(None if isinstance(epochs, Once) else epochs, steps, epochs is None)
        found = find_rank(rank, world, mesh)
        self.rank, self.world, self.rank_source = found
        meeting = Meeting.at(socket) if socket is not None else Meeting.of_job(found.world * members)
        options: Dict[str, Any] = {"rank": self.rank, "world": self.world, "workers": workers, "depth": depth}
        # Until a view says where it wants its batches: only what can't be made by the CPU is left to a GPU.
        options["decode"] = "auto"
        wanted = {
            "maxDepth": max_depth,
            "cache": cache,
            "scratch": scratch,
            "timeout": min(timeout, FOREVER) if isinstance(timeout, (int, float)) else timeout,
            "limit": steps,
        }
        options.update({name: value for name, value in wanted.items() if value is not None})
        request: Dict[str, Any] = {**asked, "options": options}
        restarts = RESTARTS if restart is True else int(restart)
        self._shared = members > 1
        #: Seconds that a batch may take on a device.
        self._timeout = options["timeout"]
        #: What must end with the feed: device stages of its views.
        self._closers: List[Any] = []
        if members > 1:
            same = {key: value for key, value in request.items() if key != "allowCode"}
            text = json.dumps(without_payloads(same), sort_keys=True, default=str)
            request["share"] = {"name": hashlib.sha256(text.encode()).hexdigest(), "members": members}
            restarts = 0  # members may stand at different batches when an engine dies

        request["python"] = command()

        self._stream = Stream(name, meeting, request, restarts, self._stats)
        #: By which it is called in what is logged: no other open feed of this process has it.
        self.name = self._stream.name = name_for(self._stream, name)
        self._loop: Optional[Loop] = None
        #: Where the next loop begins, when that is not where the last one ended.
        self._move_to: Optional[Place] = None
        if state is not None:
            check_state(state)
        self._stream.connect(state)
        #: Where the run stands: after the batches in the user's hands.
        self._place = self._stream.ahead
        #: The epoch of the state that was loaded, if no step of it was left.
        saved = self._place.epoch if state is None else state.get("epoch")
        self._over: Optional[int] = None if saved == self._place.epoch else saved
        #: Whether the next loop is over that epoch.
        self._empty = False
        self._stats.opened()
        log.info("%s: %s", self.name, self._where())
        fork.watch(self._stream)

    # ------------------------------------------------------------ iterating

    def __iter__(self) -> Iterator[Any]:
        """One epoch of NumPy batches."""
        return iter(NumpyView(self, self.tuple))

    @named
    def numpy(self, tuple: Optional[Sequence[str]] = None) -> View:
        """Batches of NumPy arrays, without a copy."""
        return NumpyView(self, tuple or self.tuple)

    @named
    def torch(
        self,
        device: Any = None,
        tuple: Optional[Sequence[str]] = None,
        prefetch: int = 2,
        decode: Optional[str] = None,
        channels_last: bool = False,
    ) -> View:
        """Batches of PyTorch tensors: views of shared memory, or ``prefetch`` ahead on ``device``.

        On ``"cuda"`` images are decoded and transformed by the engine (``decode="cpu"``), by the GPU
        (``"gpu"``), or by whoever feeds this trainer better, which is measured in the first seconds
        (``"auto"``, the default). ``channels_last`` gives images in that memory format.
        """
        from ._view.torch import torch_view

        return torch_view(self, device, tuple or self.tuple, prefetch, decode, channels_last)

    @named
    def jax(
        self,
        device: Any = None,
        tuple: Optional[Sequence[str]] = None,
        prefetch: int = 2,
        decode: Optional[str] = None,
    ) -> View:
        """Batches of JAX arrays, on ``device`` (a device or a sharding), ``prefetch`` batches ahead.

        On one GPU, ``decode`` says who makes the images, as with :meth:`torch`.
        """
        from ._view.jax import jax_view

        return jax_view(self, device, tuple or self.tuple, prefetch, decode)

    @named
    def tensorflow(self, tuple: Optional[Sequence[str]] = None) -> Any:
        """A ``tf.data.Dataset`` of one epoch."""
        from ._view.tensorflow import dataset

        return dataset(self, tuple or self.tuple)

    def __len__(self) -> int:
        """Steps of a loop over whole epochs."""
        total = self._limits.total(self._stream.opened, self._rows, Place(0, 0))
        if total is None:
            raise TypeError("this feed never ends: it has no length")
        return total

    def __bool__(self) -> bool:
        """A feed that never ends has no length, and is there all the same."""
        return True

    def set_epoch(self, epoch: int) -> None:
        """The next loop is over this epoch.

        Where a state of the middle of it was loaded, it goes on from there; where no step was left after that
        state, the loop is over at once.
        """
        self._empty = epoch == self._over
        if self._following.epoch != epoch and not self._empty:
            self._move_to = Place(epoch, 0)

    @property
    def _following(self) -> Place:
        """Where the next loop begins."""
        return self._stream.ahead if self._move_to is None else self._move_to

    @property
    def epoch(self) -> int:
        """The epoch that a loop is in, or that the next one begins with."""
        return self._place.epoch if self._loop is not None else self._following.epoch

    def _begin(self) -> Loop:
        """Begins a loop; one that was left without ending is over."""
        stream = self._stream
        if self._loop is not None:
            self._loop.leave(finished=False)
        empty, self._empty, self._over = self._empty, False, None
        if empty:
            self._loop = Loop(self, 0)
            return self._loop
        total = self._limits.total(stream.opened, self._rows, self._following)
        limit = None if self._limits.plain else total
        if self._move_to is not None:
            stream.go(self._move_to, limit)
            self._move_to = None  # not before: a Ctrl-C may come in between
        elif not self._limits.plain:
            stream.limit(limit)
        self._place = stream.ahead
        self._stats.mark()
        self._loop = Loop(self, total)
        return self._loop

    # ------------------------------------------------------------ state

    def state_dict(self) -> Dict[str, Any]:
        """Where this run stands: after the batches in the user's hands.

        Plain JSON, the same as the Node API's.
        """
        base = self._stream.opened.state
        state: Dict[str, Any] = {
            "version": base["version"],
            "order": base["order"],
            "content": base["content"],
        }
        state.update(epoch=self._place.epoch, position=self._place.position, describe=dict(base["describe"]))
        changes = needed_changes(self._stream.changes or [], self._place, self._stream.opened.length)
        if changes:
            state["changes"] = changes
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a saved state, with the next loop."""
        check_state(state)
        stream, base = self._stream, self._stream.opened.state
        try:
            place, known = (
                Place(int(state["epoch"]), int(state["position"])),
                (state["version"], state["order"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"this is no state of a feed: {error!r}") from error
        if known != (base["version"], base["order"]) or place.position > stream.opened.length:
            stream.connect(state)  # the engine says what is different
        if state.get("content") != base["content"]:
            log.warning("%s: fields, functions or onError have changed since the state was saved", self.name)
        if state.get("changes") or stream.changes:
            stream.changes = list(state.get("changes", []))
        self._move_to = self._place = stream.opened.settled(place, self._rows)
        self._over = place.epoch if self._place.epoch > place.epoch else None

    def set_weights(self, weights: Union[Sequence[float], Mapping[str, float]]) -> None:
        """Changes the weights of a blend from the next batch on that is not yet on its way to a device."""
        stream = self._stream
        place = self._following
        asked = dict(weights) if isinstance(weights, Mapping) else list(weights)
        before = {} if stream.changes is None else {"changes": stream.changes}
        changes = list(stream.ask({"weights": asked, "place": place._asdict(), **before})["changes"])
        if changes == (stream.changes or []):
            return
        stream.changes = changes
        if self._move_to is None:
            left = None if self._loop is None else self._loop.left
            self._move_to = place
            stream.go(place, None if self._limits.plain else left)
            self._move_to = None

    # ------------------------------------------------------------ knowing

    @named
    def tune(self, *, workers: Optional[int] = None, depth: Optional[int] = None) -> Dict[str, int]:
        """Changes workers or depth while running. Neither changes what is delivered.

        Batches that are still referred to need their slots: the depth stays above their number.
        """
        stream = self._stream
        if depth is not None:
            depth = max(depth, stream.least_depth)
        change = {
            name: value for name, value in (("workers", workers), ("depth", depth)) if value is not None
        }
        tuned = dict(stream.ask({"tune": change})["tuned"])
        stream.opened.depth = stream.client.memory.used = tuned["depth"]
        stream.remember({name: tuned[name] for name in change})
        return tuned

    def stats(self) -> Dict[str, Any]:
        """What it has done so far, and what the engine says about itself."""
        return self._stats.report(self._stream.ask({"stats": True})["stats"])

    @property
    def _rows(self) -> int:
        return self._stream.client.memory.layout.rows

    def _end_of_epoch(self, epoch: int, bad: Optional[str]) -> None:
        if self.rank != 0:
            if bad is not None:
                say(f"{self.name}, rank {self.rank}, epoch {epoch}: {bad}")
            return
        try:
            spans = self._stream.client.ask({"stats": True})["stats"].get("spans", {})
        except MillraceError:
            spans = {}
        line = f"{self.name}, {self._stats.epoch_line(epoch, spans)}"
        say(line if bad is None else f"{line}; {bad}")

    def show(self, count: int = 16, path: Optional[str] = None) -> Any:
        """Draws samples with their labels, as the model will see them: with Matplotlib, or as a PNG file."""
        from ._view.show import show

        return show(self, count, path)

    def _where(self) -> str:
        opened = self._stream.opened
        steps = f"{opened.length:,} samples, {opened.steps:,} steps an epoch"
        return f"{steps}; rank {self.rank} of {self.world} ({self.rank_source})"

    def __repr__(self) -> str:
        if self._stream.closed:
            return f"<Feed {self.name}, closed>"
        fields, rows = self._stream.client.memory.layout.fields, self._rows
        shown = [
            f"{f.name} {f.kind}{[rows, *(['…'] if f.form != 'dense' else []), *f.shape]} {f.form}"
            for f in fields
        ]
        place = f"at epoch {self._following.epoch}, position {self._following.position}"
        lines = [f"Feed {self.name}: {self._where()}; {place}", *(f"  {line}" for line in shown)]
        return "\n".join(lines).replace("'…'", "…")

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """Ends it. Batches still referred to stay readable."""
        if self._loop is not None:
            self._loop.superseded = True
        for reference in self._closers:
            end = reference()
            if end is not None:
                end()
        self._stream.close()

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
