"""``Feed``: batches of a feed, as an iterable. One ``for`` is one epoch.

import millrace

feed = millrace.Feed("cats.json")
for batch in feed.torch(device="cuda"):
    train(batch["image"], batch["label"])
"""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

from ._client.find_engine import Meeting
from ._client.recording import Recording, trace_file
from ._data.functions import with_map
from ._open.definition import resolve
from ._open.names import instead
from ._open.open_feeds import Opened, check_state, name_for
from ._open.options import named
from ._open.plugins import plugin_urls
from ._open.ranks import Rank, Seat, find_rank
from ._open.request import options_of, request_of
from ._spans.level import level_of
from ._spans.records import SpanRead
from ._stream.account import Diagnosis
from ._stream.consumer import StepMark
from ._stream.loop import ONCE, Limits, Once, check_limits
from ._stream.progress_line import ProgressLine
from ._stream.run import Run
from ._stream.stats import Stats
from ._stream.stream import Stream
from ._view.carrier import Carrier
from .diagnosing import diagnose
from .errors import DefinitionError
from .views import Samples, View, length

logger = logging.getLogger("millrace")

#: How often a dead engine is replaced.
RESTARTS = 3


class Feed(Opened):
    """Batches of a feed, made by an engine beside this process, in shared memory.

    ``feed`` is a path (``cats.json``, ``cats.feed.ts``, ``cats.json#val``), a dict, or a builder; None with
    ``socket`` for the feed that a running engine was given. The options never change which samples come, in
    which order, with which values:

    * ``workers``: worker threads; 0: everything happens in the calling thread. Default: auto. See
      docs/measure.md#tuning.
    * ``affinity``: the cores that workers run on: "auto" (one each, near the GPU), or a list such as
      "2-7,10" or [2, 3]. Default: off. See docs/measure.md#cores.
    * ``depth``: batches made ahead: slots in use, 1 to 32. Default: 4, and tuned.
    * ``tune``: what is tuned while it runs: "auto" what is not given, "all" also what is, "off" nothing.
      Default: auto. See docs/measure.md#tuning.
    * ``rank``: data-parallel rank, given together with world. Default: the launcher's. See
      docs/start.md#ranks.
    * ``world``: number of data-parallel ranks. Default: the launcher's. See docs/start.md#ranks.
    * ``sequence``: context-parallel rank, which gets its part of each row of tokens. As (rank, world),
      (rank, world, "contiguous") or mesh["cp"]. See
      docs/language-models.md#ranks-context-parallelism-and-speed.
    * ``epochs``: one loop spans so many epochs. None: it never ends, as over shuffled tokens by default.
      Default: one.
    * ``steps``: one loop ends after so many steps at the latest.
    * ``tokens``: one loop ends with the step that brings so many tokens, those of all ranks together.
    * ``state``: go on from a saved state.
    * ``variant``: the variant of the feed to open: its merge patch is applied first.
    * ``allow_code``: a definition in JSON may run the code that it names (functions, Python, kernels). See
      docs/troubleshoot.md#trust.
    * ``plugins``: modules with sources or stores of your own, by path or file: URL. See docs/extend.md.
    * ``cache``: bytes of the block cache, where the order is windowed or rows share row groups or chunks.
      Default: what loads all once. See docs/define.md#row-groups-and-chunks.
    * ``scratch``: bytes that the workspace of one worker may grow to. Default: 512 MiB.
    * ``observe``: how much is written down of what threads do: "counters" or "spans". Default: spans. See
      docs/measure.md#spans.
    * ``log``: folder for a run log, a line of JSON a second. False: none. Default: MILLRACE_LOG, or none.
      See docs/measure.md#run-logs.
    * ``timeout``: seconds that one sample, or on a GPU one batch, may take before the run ends with its
      name. Default: 60.
    * ``progress``: True prints rank 0's rate, loss and reason every few seconds.
    * ``mesh``: a DeviceMesh of one dimension such as mesh["dp"], or a JAX sharding, that has the rank. See
      docs/start.md#ranks.
    * ``members``: how many processes on this host take part in this rank (tensor parallelism) and see its
      batches. Default: 1. See docs/start.md#ranks.
    * ``restart``: a dead engine is replaced, and goes on at the right place, at most so often (True: 3
      times). Default: True.
    * ``socket``: the engine of a running millrace serve.
    * ``trace``: a file for a trace of the run, "run.json.gz" (or .json, .pfw, .pfw.gz, in a folder that is
      there). See docs/measure.md#traces.
    * ``tuple``: names of fields; loops then give tuples of them.
    * ``map``: a function (sample, rng) over every sample, in Python processes of the engine. See
      docs/start.md#your-own-python.
    * ``batch_map``: a function that gets every finished batch, on the device. See
      docs/start.md#your-own-python.
    """

    @named
    def __init__(
        self,
        feed: Any = None,
        *,
        # generated: parameters, by npm run generate from packages/core/deliver/option-table.ts
        workers: Union[int, str] = "auto",
        affinity: Union[str, Sequence[int], None] = None,
        depth: Optional[int] = None,
        tune: Optional[str] = None,
        rank: Optional[int] = None,
        world: Optional[int] = None,
        sequence: Any = None,
        epochs: Union[int, None, Once] = ONCE,
        steps: Optional[int] = None,
        tokens: Optional[int] = None,
        state: Optional[Mapping[str, Any]] = None,
        variant: Optional[str] = None,
        allow_code: bool = False,
        plugins: "Sequence[str | os.PathLike[str]]" = (),
        cache: Optional[int] = None,
        scratch: Optional[int] = None,
        observe: Optional[str] = None,
        log: "str | os.PathLike[str] | bool | None" = None,
        timeout: float = 60,
        progress: bool = False,
        mesh: Any = None,
        members: int = 1,
        restart: Union[bool, int] = True,
        socket: "str | os.PathLike[str] | None" = None,
        trace: "str | os.PathLike[str] | None" = None,
        tuple: Optional[Sequence[str]] = None,
        map: Optional[Callable[[Any, Any], Any]] = None,
        batch_map: Optional[Callable[[Any], Any]] = None,
        # end
    ) -> None:
        given = dict(locals())
        if feed is None and socket is None:
            raise DefinitionError("give a feed, or the socket of a running engine")
        check_limits(epochs, steps, tokens)
        stats, level = Stats(), level_of(observe)
        recorded = None if trace is None else trace_file(trace)
        asked, name = resolve(feed, variant)
        if allow_code:
            asked["allowCode"] = True
        if plugins:
            asked["plugins"] = plugin_urls(plugins)
        if map is not None:
            asked = with_map(asked, map)
        #: The definition as JSON, where Python knows it.
        self.definition: Optional[Mapping[str, Any]] = asked.get("feed")
        self.tuple = tuple
        options = options_of(given)
        parts = options.get("sequence", {}).get("world", 1)

        def ask(now: Rank) -> Tuple[Meeting, Dict[str, Any]]:
            together = now.world * members * parts
            meeting = Meeting.of_job(together) if socket is None else Meeting.at(socket)
            own = {**options, "rank": now.rank, "world": now.world}
            return meeting, request_of(asked, own, members)

        says_rank = not (rank is None and world is None and mesh is None)
        seat = Seat(find_rank(rank, world, mesh), says_rank, ask)
        # Members of a rank may stand at different batches when an engine dies.
        restarts = 0 if members > 1 else RESTARTS if restart is True else int(restart)
        stream = Stream(name, *ask(seat.now), restarts, stats)
        stream.name = name_for(stream, name)
        if state is not None:
            check_state(state)
        stream.connect(state)
        stats.opened()
        try:
            self._run = Run(
                stream,
                stats,
                partial(Limits.of, epochs, steps, tokens),
                seat,
                timeout=options["timeout"],
                shared=members > 1,
                batch_map=batch_map,
                level=level,
            )
        except DefinitionError:
            stream.close()
            raise
        self._recording = None if recorded is None else Recording(recorded)
        if state is not None:
            self._run.began_with(state)
        self._progress = ProgressLine(self._run) if progress and self.rank == 0 else None
        logger.info("%s: %s", self.name, self._where())

    # ------------------------------------------------------------ iterating

    def __iter__(self) -> Iterator[Any]:
        """One epoch of NumPy batches."""
        return iter(self.numpy())

    @named
    def numpy(self, tuple: Optional[Sequence[str]] = None) -> View:
        """Batches of NumPy arrays, without a copy."""
        return View(self._run, Carrier(self._run), tuple or self.tuple, self)

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
        (``"gpu"``), or by both; with ``"auto"``, the default, the tuner finds which of them feeds this
        trainer best. ``channels_last`` gives images in that memory format.
        """
        from ._view.choose import torch_carrier

        carrier = torch_carrier(self._run, device, prefetch, decode, channels_last)
        return View(self._run, carrier, tuple or self.tuple, self)

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
        from ._view.choose import jax_carrier

        carrier = jax_carrier(self._run, device, prefetch, decode)
        return View(self._run, carrier, tuple or self.tuple, self)

    @named
    def tensorflow(self, tuple: Optional[Sequence[str]] = None) -> Any:
        """A ``tf.data.Dataset`` of one epoch."""
        from ._view.tensorflow import dataset

        return dataset(View(self._run, Carrier(self._run)), self._run.fields, tuple or self.tuple)

    def __getattr__(self, name: str) -> Any:
        # Only called for names that aren't there.
        told = instead(name)
        raise AttributeError(f'Feed has no "{name}"' + ("" if told is None else f": {told}"))

    def __len__(self) -> int:
        """Steps of a loop over whole epochs."""
        return length(self._run)

    @property
    def dataset(self) -> Samples:
        """``len(feed.dataset)``: samples of an epoch, of all ranks together."""
        return Samples(self._run)

    @property
    def batch_size(self) -> int:
        """Rows of a batch on this rank; of batches by tokens, at most."""
        self._run.join()
        return self._run.rows

    def __bool__(self) -> bool:
        """A feed that never ends has no length, and is there all the same."""
        return True

    def set_epoch(self, epoch: int) -> None:
        """The next loop is over this epoch.

        Where a state of the middle of it was loaded, it goes on from there; where no step was left after that
        state, the loop is over at once.
        """
        self._run.set_epoch(epoch)

    @property
    def epoch(self) -> int:
        """The epoch that a loop is in, or that the next one begins with."""
        return self._run.epoch

    @property
    def rank(self) -> int:
        """The data-parallel rank of this process."""
        return self._run.seat.now.rank

    @property
    def world(self) -> int:
        """How many data-parallel ranks there are."""
        return self._run.seat.now.world

    @property
    def rank_source(self) -> str:
        """Who said so: "given", a mesh, a process group, a launcher, or "alone"."""
        return self._run.seat.now.source

    @property
    def name(self) -> str:
        """By which it is called in what is logged: no other open feed of this process has it."""
        return self._run.name

    @property
    def batch_map(self) -> Optional[Callable[[Any], Any]]:
        """Applied to every finished batch."""
        return self._run.batch_map

    @batch_map.setter
    def batch_map(self, fn: Optional[Callable[[Any], Any]]) -> None:
        self._run.batch_map = fn

    # ------------------------------------------------------------ state

    def state_dict(self) -> Dict[str, Any]:
        """Where this run stands: after the batches in the user's hands.

        Plain JSON, the same as the Node API's.
        """
        return self._run.state()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a saved state, with the next loop."""
        check_state(state)
        self._run.load(state)

    def set_weights(self, weights: Union[Sequence[float], Mapping[str, float]]) -> None:
        """Changes the weights of a blend from the next batch on that is not yet on its way to a device."""
        self._run.set_weights(weights)

    # ------------------------------------------------------------ knowing

    @named
    def tune(self, *, workers: Optional[int] = None, depth: Optional[int] = None) -> Dict[str, int]:
        """Changes workers or depth while running. Neither changes what is delivered.

        Batches that are still referred to need their slots: the depth stays above their number.
        """
        stream = self._run.stream
        if depth is not None:
            depth = max(depth, stream.least_depth)
        change = {
            name: value for name, value in (("workers", workers), ("depth", depth)) if value is not None
        }
        return stream.tune(change)

    def step(self) -> StepMark:
        """Says that the training step is over; or, as ``with feed.step():``, from where to where it goes.

        Needed where the host's clock can't tell: see docs/measure.md. What comes after it until the next
        batch is asked for (evaluation, checkpoints) is no part of the step then.
        """
        return StepMark(self._run.consumer)

    def stats(self) -> Dict[str, Any]:
        """What it has done so far, and what the engine says about itself.

        ``account`` and ``epoch``: where the time of all its steps went, and of those of its latest epoch
        (docs/measure.md); None where that is not known. Of a feed that is closed: as it was at its end.
        """
        return self._run.account.report()

    def metrics(self) -> Dict[str, float]:
        """The account as flat names and numbers: for ``wandb.log`` or ``SummaryWriter.add_scalar``."""
        return dict(self._run.account.latest()["metrics"])

    def prometheus(self) -> str:
        """The same in Prometheus' text format, for an endpoint of yours or a file of node_exporter's."""
        return str(self._run.account.latest()["prometheus"])

    @named
    def diagnose(self, seconds: float = 10.0, *, step_ms: Optional[float] = None) -> Diagnosis:
        """Why the trainer waits for data, and what to do: ``print`` it, or use it as a dict.

        Within a loop: judges the last ``seconds`` of it, at once. Without one: runs the feed for so long
        beside this run, which stays as it is, with steps of ``step_ms`` or without a trainer.
        """
        return diagnose(self._run, seconds, step_ms)

    def spans(self, cursor: Optional[Sequence[int]] = None) -> SpanRead:
        """What the engine has done for this feed since the cursor, and when: ``records, cursor, lost``.

        Without a cursor: everything that is still known. ``millrace.spans()`` has what this process has done.
        """
        return self._run.stream.spans(cursor)

    def show(self, count: int = 16, path: Optional[str] = None) -> Any:
        """Draws samples with their labels, as the model will see them: with Matplotlib, or as a PNG file."""
        from ._view.show import show

        beside = self._run.beside()
        try:
            return show(beside, View(beside, Carrier(beside)), self.definition, count, path)
        finally:
            beside.close()

    def _where(self) -> str:
        opened = self._run.stream.opened
        steps = f"{opened.length:,} samples, {opened.steps:,} steps an epoch"
        return f"{steps}; rank {self.rank} of {self.world} ({self.rank_source})"

    def __repr__(self) -> str:
        run = self._run
        if run.stream.closed:
            return f"<Feed {self.name}, closed>"
        shown = [field.described(run.rows) for field in run.fields]
        place = f"at epoch {run.following.epoch}, position {run.following.position}"
        lines = [f"Feed {self.name}: {self._where()}; {place}", *(f"  {line}" for line in shown)]
        return "\n".join(lines)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """Ends it. Batches still referred to stay readable."""
        if self._progress is not None:
            self._progress.close()
        self._run.close()
        if self._recording is not None:
            self._recording.close()

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_of(feed: Feed) -> Run:
    """The run behind a feed: for the package's own parts, and its tests."""
    return feed._run
