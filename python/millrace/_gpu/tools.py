"""What the fields of a stage share: the device, two streams, the decoders, and the memory to work in.

    feed  ── rows and bytes of batch k+1 come in, JPEGs are decoded ──►●      ● events
                                                                      │
    work  ── kernel of batch k ────────────────────────────────────►  └─ kernel of batch k+1 ──►●

Both have the highest priority: on an H200, in GPU mode and with 8 of CUDA's queues, ResNet-18 trained on
11,603 images a second with it, and on 11,415 with the lowest; ResNet-50 on 4,551 and on 4,438.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Optional

from .._cuda import nvcomp, nvjpeg
from .._cuda.driver import driver_of
from .._cuda.events import Event, Events
from .._cuda.kernels import Kernels
from .._cuda.memory import Pool
from .._generated.device import DEVICE_BYTES, LANES, SCRATCH_PARTS
from ..errors import MillraceError
from .areas import Area, Stretch
from .unpacker import Unpacker


class Tools:
    """Made, used and closed in the stage's thread. ``jpegs`` and ``nvcomps`` make decoders when needed."""

    def __init__(
        self,
        driver: Any,
        kernels: Any,
        jpegs: Callable[[], Any],
        blocks: Optional[int] = None,
        budget: int = DEVICE_BYTES,
        nvcomps: Callable[[], Any] = nvcomp.load,
    ) -> None:
        self.driver = driver
        self.kernels = kernels
        self._make_jpegs = jpegs
        self._jpegs: Optional[Any] = None
        self._make_nvcomp = nvcomps
        self._unpacker: Optional[Unpacker] = None
        # A short burst on all of the GPU costs a trainer less than a long stay on a part of it: its own
        # kernels are made for all of it, and end when the last of their blocks does. Two blocks fit on each
        # multiprocessor: while one waits for its memory, the other goes on.
        self.blocks = blocks or 2 * driver.multiprocessors
        self.events = Events(driver)
        self.pool = Pool(driver, self.events)
        self.feed: int = driver.stream()
        self.work: int = driver.stream()
        #: Bytes of pictures that are decoded in one turn: the areas share the budget.
        self.capacity = budget // LANES
        self._areas = [Area(driver, self.capacity) for _ in range(LANES)]
        self._turn = 0
        #: Bytes that the kernel may use besides.
        self.scratch_budget = budget // SCRATCH_PARTS
        self._scratch = Stretch(driver)
        self._between = Stretch(driver)

    @property
    def jpegs(self) -> Any:
        """The decoders."""
        if self._jpegs is None:
            self._jpegs = self._make_jpegs()
        return self._jpegs

    @property
    def unpacker(self) -> Unpacker:
        """What decompresses."""
        if self._unpacker is None:
            self._unpacker = Unpacker(self.driver, self._make_nvcomp())
        return self._unpacker

    def next_area(self) -> Area:
        """The area whose last turn is longer ago, once that is over."""
        self._turn += 1
        return self._areas[self._turn % LANES].enter()

    def scratch(self, size: int) -> int:
        """Memory that kernels use one after the other."""
        return self._reserve(self._scratch, size)

    def between(self, size: int) -> int:
        """Memory for an array between two kernels."""
        return self._reserve(self._between, size)

    def _reserve(self, stretch: Stretch, size: int) -> int:
        if stretch.grows(size):
            self.driver.synchronize_stream(self.work)
        return stretch.reserve(size)

    def fed(self) -> Event:
        """What is put on the work stream from now on begins after all that is on the feed stream now."""
        event = self.events.take().record(self.feed)
        event.before(self.work)
        return event

    def worked(self) -> Event:
        """All that is on the work stream now."""
        return self.events.take().record(self.work)

    def close(self) -> None:
        """Waits for the device, and gives everything back that is not in use elsewhere."""
        self.driver.synchronize_stream(self.feed)
        self.driver.synchronize_stream(self.work)
        for part in (*self._areas, self._scratch, self._between, self.pool, self.kernels):
            part.close()
        for more in (self._jpegs, self._unpacker):
            if more is not None:
                more.close()
        for stream in (self.feed, self.work):
            self.driver.destroy_stream(stream)
        self.events.close()


def open_tools(
    device: int, folder: Path, blocks: Optional[int] = None, budget: int = DEVICE_BYTES
) -> Callable[[], Tools]:
    """Makes the tools for a device, in the thread that will use them. ``folder`` holds the .cu files."""
    driver = driver_of(device)

    def make() -> Tools:
        driver.bind()
        version = driver.version // 1000

        def jpegs() -> Any:
            return nvjpeg.Jpegs(nvjpeg.load(version), driver.synchronize_stream)

        def nvcomps() -> Any:
            return nvcomp.load(version)

        return Tools(driver, Kernels(driver, folder), jpegs, blocks, budget, nvcomps)

    return make


def compile_ahead(device: int, folder: Path) -> None:
    """Compiles the kernels of pictures into the cache, in a thread of its own: the first stage finds them."""

    def run() -> None:
        driver = driver_of(device)
        with driver.current():
            kernels = Kernels(driver, folder)
            kernels.kernel("picture")
            kernels.close()

    # What goes wrong here goes wrong again, and is told, when a stage is made. The process's end waits for
    # it: NVRTC must not be taken down while it compiles.
    threading.Thread(target=lambda: suppressed(run), name="millrace-compile").start()


def suppressed(run: Callable[[], None]) -> None:
    """Runs it; what it raises is told elsewhere."""
    with suppress(MillraceError):
        run()
