"""Batches that are made on a device, through the stage and the views, on one that runs as late as it may."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
from fake_cuda import FakeDriver, FakeKernels, read
from generators import told
from patience import PATIENCE, wait_until

import millrace
from millrace._gpu.generate import Made
from millrace._gpu.keyed import Random
from millrace._gpu.stage import DeviceStage
from millrace._gpu.ticket import HostBatch
from millrace._gpu.tools import Tools
from millrace._view.carrier import Carrier, Staged
from millrace._view.staging import Staging
from millrace.feed import run_of
from millrace.views import View

# ---------------------------------------------------------------- through the stage


def stripes(driver: Any, grid: Tuple[int, int], head: Any, image: int, spare: int, label: int) -> None:
    """What the kernel of ``told()`` draws here: values that say for which row and element they are."""
    positions, rows = (read(place, np.int64, head.count) for place in (head.positions, head.rows))
    assert grid == (2, head.count)
    driver.check(spare, 5 * head.count)
    read(spare, np.uint8, 5 * head.count)[:] = 0xEE
    pictures = read(image, np.float32, 12 * head.count).reshape(-1, 12)
    pictures[:] = positions[:, None] * 100 + head.epoch + np.arange(12)
    read(label, np.int64, head.count)[:] = rows


def copied(driver: Any, grid: Tuple[int, int], pool: int, starts: int, firsts: int, *rest: Any) -> None:
    """`synthetic`, for u32."""
    count, elements, dtype, out = (value if isinstance(value, int) else value.value for value in rest)
    assert dtype == 5
    made = read(out, np.uint32, count * elements).reshape(count, elements)
    for row, (start, first) in enumerate(zip(read(starts, np.uint32, count), read(firsts, np.int64, count))):
        made[row] = read(pool + 4 * int(start), np.uint32, elements)
        made[row, 0] = first


class Driver(FakeDriver):
    def function(self, module: int, name: str) -> int:
        handle = self._handle()
        self.functions[handle] = {"draw": stripes, "synthetic": copied}[name]
        return handle

    def launch(self, function: int, grid: Any, threads: int, arguments: Any, stream: int) -> None:
        values = [getattr(argument, "value", argument) for argument in arguments]
        self.put(stream, lambda: self.functions[function](self, grid, *values))


class Kernels(FakeKernels):
    headers = {"millrace.cuh": ""}

    def load(self, name: str, source: str, headers: Dict[str, str]) -> int:
        return 1


def staged(seed: int, generator: Dict[str, Any], batches: List[Made]) -> List[Dict[str, Any]]:
    """What comes out of a stage for some batches, each dropped as soon as it has been looked at."""
    driver = Driver(seed)
    out = []
    with DeviceStage(lambda: Tools(driver, Kernels(driver), lambda: None), {}, None, generator) as stage:
        tickets = [stage.submit(HostBatch([], made=batch)) for batch in batches]
        while tickets:
            ticket = tickets.pop(0).wait(PATIENCE)
            out.append({str(name): array.copy_to_host() for name, array in ticket.arrays.items()})
            del ticket
            gc.collect()
    assert wait_until(lambda: not driver.allocated), "memory of the device was not given back"
    return out


@pytest.mark.parametrize("seed", range(6))
def test_the_stage_makes_batches_of_a_kernel(seed):
    batches = [Made(epoch, np.arange(count) + 10 * epoch, np.arange(count) * 3) for epoch, count in enumerate(
        [5, 5, 1, 0, 7, 5, 6, 7, 300, 5]
    )]  # fmt: skip
    for batch, made in zip(batches, staged(seed, told(), batches)):
        assert sorted(made) == ["label", "picture"] and made["picture"].shape == (batch.count, 3, 4)
        expected = batch.positions[:, None] * 100 + batch.epoch + np.arange(12)
        assert np.array_equal(made["picture"].reshape(-1, 12), expected)
        assert np.array_equal(made["label"], batch.rows)


def test_the_stage_makes_synthetic_batches(tmp_path):
    pool = np.arange(1000, 1000 + 4096 + 8, dtype=np.uint32)
    pool.tofile(tmp_path / "pool")
    field = {"name": "data", "field": "x", "dtype": "u32", "dlpack": [1, 32, 1], "shape": [2, 4]}
    generator = {
        "kind": "synthetic", "seed": 9, "dtype": "u32", "elements": 8, "places": 4096, "fields": [field],
        "pool": {"path": str(tmp_path / "pool"), "bytes": pool.nbytes},
    }  # fmt: skip
    batches = [Made(0, np.arange(4), np.array([0, 1, 2, 4095]) + 10 * step) for step in range(7)]
    for batch, made in zip(batches, staged(1, generator, batches)):
        starts = Random(9, 0, batch.rows, 1).int(4096)
        expected = np.stack([pool[start : start + 8] for start in starts])
        expected[:, 0] = batch.rows
        assert np.array_equal(made["x"], expected.reshape(-1, 2, 4))
    with pytest.raises(millrace.EngineError, match="pool"):
        staged(1, {**generator, "pool": {**generator["pool"], "bytes": 5}}, [])


# ---------------------------------------------------------------- from the definition to the array


class FakeGpu(Carrier):
    """What the carriers for PyTorch and JAX do, with arrays of NumPy, on the fake device."""

    prefetch = 2

    def __init__(self, run: Any, driver: Any) -> None:
        super().__init__(run)

        def opened(pictures: Any, _folder: Any, _device: int, memory: Any, generator: Any) -> DeviceStage:
            tools = lambda: Tools(driver, Kernels(driver), lambda: None)  # noqa: E731
            return DeviceStage(tools, pictures, memory, generator)

        self.staging = Staging(run, 0, open_stage=opened)

    def enter(self) -> None:
        self.run.stream.decode_on("gpu", None)

    def load(self, taken: Any) -> Staged:
        return Staged(taken, taken.batch, self.staging.submit(taken), on_stage=True)

    def unload(self, staged: Staged) -> Any:
        ticket = staged.ticket.wait(PATIENCE)
        self.staging.fill(staged.taken.batch, ticket, lambda array: array.copy_to_host())
        return staged.taken.batch

    def leave(self, staged: Any) -> None:
        self.staging.drain(one.ticket for one in staged)
        staged.clear()


def on_gpu(feed: Any, driver: Any) -> View:
    """A view of a feed on the fake device."""
    return View(run_of(feed), FakeGpu(run_of(feed), driver))


def feed_of(folder: Path) -> Any:
    (folder / "gen.cu").write_text('extern "C" __global__ void draw() {}')
    fields = {"image": dict(dtype="f32", shape=[3, 4]), "spare": dict(dtype="u8", shape=[5])}
    fields["label"] = dict(dtype="i64", shape=[])
    source = millrace.kernel(folder / "gen.cu", entry="draw", count=45, threads=300, fields=fields)
    named = source.fields(image={"from": "image"}, label={"from": "label"})
    return named.shuffle(seed=5).batch(6, last="keep")


def rows_of(batches: Any) -> List[Tuple[int, bytes]]:
    """(label, image) of all rows, in order."""
    return [(int(label), row.tobytes()) for one in batches for label, row in zip(one["label"], one["image"])]


@pytest.mark.usefixtures("engine")
def test_the_same_rows_come_out_after_a_resume_and_on_two_ranks(tmp_path):
    def run(epochs: int = 1, **options: Any) -> List[Tuple[int, bytes]]:
        with feed_of(tmp_path).open(workers=2, **options) as feed:
            view = on_gpu(feed, Driver(3))
            return [row for _ in range(epochs) for row in rows_of(view)]

    whole = run(epochs=2)
    assert sorted(label for label, _ in whole[:45]) == list(range(45)) and whole[:45] != whole[45:]
    assert run(epochs=2) == whole

    with feed_of(tmp_path).open(workers=1) as feed:
        begun = []
        for batch in on_gpu(feed, Driver(4)):
            begun += rows_of([batch])
            if len(begun) == 18:
                state = feed.state_dict()
                break
    assert begun + run(epochs=2, state=state) == whole

    ranks = [run(rank=rank, world=2) for rank in range(2)]
    merged = [row for step in range(4) for rank in ranks for row in rank[step * 6 : step * 6 + 6]]
    assert sorted(merged) == sorted(whole[:45]) and merged[:24] == whole[:24]
