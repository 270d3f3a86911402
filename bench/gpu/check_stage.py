"""The Python device stage on a real GPU: is it right, and how fast. Needs no engine: rows are made by hand.

    PYTHONPATH=python python3 bench/gpu/check_stage.py JPEGS.npz [--out result.json]

JPEGS.npz holds JPEGs as byte arrays: a0 … a255 (a batch), b0 … (larger ones), odd_* (what decoders stumble over).
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import time
import traceback
from collections import deque
from pathlib import Path
from typing import Any, Callable, Dict, List

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np
import stage_rows as rows
import torch

from millrace._cuda import nvjpeg
from millrace._gpu import plan
from millrace._cuda.driver import driver_of
from millrace._cuda.memory import TorchMemory
from millrace._gpu.stage import DeviceStage, open_stage
from millrace._gpu.ticket import HostArray, HostBatch

BATCH = 256
KERNELS = Path(__file__).resolve().parents[2] / "packages/pixels/transform/kernels/cuda"

result: Dict[str, Any] = {}


def note(name: str, value: Any) -> None:
    """Prints a result, and keeps it."""
    result[name] = value
    print(f"{name}: {value}", flush=True)


def check(name: str, good: bool, detail: Any = "") -> None:
    """Prints whether something is as it should be."""
    note(name, f"{'ok' if good else 'WRONG'} {detail}".strip())


def locked(slot: np.ndarray) -> np.ndarray:
    """The same in page-locked memory."""
    pages = np.frombuffer(mmap.mmap(-1, slot.nbytes), np.uint8)
    pages[:] = slot.reshape(-1)
    with driver_of(0).current():
        driver_of(0).register(pages.ctypes.data, slot.nbytes)
    return pages.reshape(slot.shape)


class Data:
    """The files, a box for each, and page-locked slots of them."""

    def __init__(self, path: Path, letter: str = "a") -> None:
        files = np.load(path)
        random = np.random.default_rng(7)
        kinds = [name for name in files.files if name[0] == letter and name[1:].isdigit()]
        self.files = [files[kinds[i % len(kinds)]] for i in range(BATCH)]
        self.odd = {name[4:]: files[name] for name in files.files if name.startswith("odd_")}
        self.boxes = [rows.some_box(*rows.size_of(data), random) for data in self.files]
        self.expected = torch.stack([rows.expected(rows.decoded(d), b) for d, b in zip(self.files, self.boxes)])
        self.slots = [locked(rows.slot_of(self.files, self.boxes, [rows.JPEG] * BATCH)) for _ in range(4)]
        self.label = np.arange(BATCH, dtype=np.int64)

    def batch(self, step: int = 0) -> HostBatch:
        slot = self.slots[step % len(self.slots)]
        return HostBatch([HostArray("image", slot, "u8"), HostArray("label", self.label, "i64")])


def opened(dtype: str = "f32", layout: str = "chw", torch_memory: bool = False, **options: Any) -> DeviceStage:
    memory = (lambda tools: TorchMemory(torch, "cuda:0")) if torch_memory else None
    return open_stage({"image": rows.field(dtype, layout)}, KERNELS, memory=memory, **options)


def as_torch(value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)


def difference(image: torch.Tensor, expected: torch.Tensor) -> List[float]:
    """Mean and greatest absolute difference, in levels of 255. ``image``: 0 … 1, or bytes."""
    levels = image.float().cpu() * (1 if image.dtype == torch.uint8 else 255)
    delta = (levels - expected.float()).abs()
    return [round(float(delta.mean()), 5), round(float(delta.max()), 1)]


# ------------------------------------------------------------ is it right


def check_values(data: Data) -> None:
    for dtype, layout, torch_memory in (("f32", "chw", False), ("u8", "hwc", False), ("f32", "chw", True)):
        with opened(dtype, layout, torch_memory) as stage:
            ticket = stage.submit(data.batch()).wait()
            ticket.before(torch.cuda.current_stream().cuda_stream)
            image = as_torch(ticket.arrays["image"])
            image = image.permute(0, 3, 1, 2) if layout == "hwc" else image
            mean, most = difference(image, data.expected)
            check(f"values {dtype} {layout}{' torch' if torch_memory else ''}", mean <= 2, f"mean {mean}, max {most}")
            check("labels", torch.equal(as_torch(ticket.arrays["label"]).cpu(), torch.arange(BATCH)))
    # Cut into turns, with few blocks; and with pixels that the CPU decoded.
    slot = data.slots[0].copy()
    for row in range(0, BATCH, 3):
        pixels = rows.decoded(data.files[row]).permute(1, 2, 0).contiguous().numpy()
        height, width = pixels.shape[:2]
        rows.write(slot[row], rows.PIXELS, pixels.reshape(-1), width, height, data.boxes[row])
    with opened(budget=20 << 20, blocks=3) as stage:
        ticket = stage.submit(HostBatch([HostArray("image", slot, "u8")])).wait()
        mean, most = difference(as_torch(ticket.arrays["image"]), data.expected)
        check("engines and pixels, in turns", mean <= 2, f"mean {mean}, max {most}")


def check_odd(data: Data) -> None:
    """What each back end says of odd files, and whether they harm their neighbours or the next batch."""
    driver = driver_of(0)
    library = nvjpeg.load(driver.version // 1000)
    random = np.random.default_rng(3)
    with opened() as stage:
        for name, file in data.odd.items():
            try:
                said = {}
                width, height = rows.size_of(file)
                with driver.current():
                    target = torch.zeros(height, width, 3, dtype=torch.uint8, device="cuda")
                    for word, backend in (("hardware", nvjpeg.HARDWARE), ("hybrid", nvjpeg.HYBRID)):
                        decoder = nvjpeg.Decoder(library, backend)
                        images = np.zeros((1, 8), np.uint64)
                        images[0, 0], images[0, 4] = target.data_ptr(), width * 3
                        address = np.array([file.ctypes.data], np.uint64)
                        some = nvjpeg.Bitstreams(address, np.array([len(file)], np.uint64), images, np.zeros(1, int))
                        said[word] = nvjpeg.status_name(decoder.decode(some, 0))[14:]
                        decoder.close()
                box = rows.some_box(width, height, random)
                files = data.files[:8].copy()
                boxes = data.boxes[:8].copy()
                files[3], boxes[3] = file, box
                slot = rows.slot_of(files, boxes, [rows.JPEG] * 8)
                ticket = stage.submit(HostBatch([HostArray("image", slot, "u8")])).wait()
                image = as_torch(ticket.arrays["image"])
                others = [0, 1, 2, 4, 5, 6, 7]
                good = difference(image[others], data.expected[:8][others])[0] <= 2
                try:
                    own: Any = difference(image[3:4], rows.expected(rows.decoded(file), box)[None])
                except RuntimeError as error:
                    own = f"the CPU says: {str(error)[:60]}"
                bad = [one["message"][14:] for one in ticket.bad.get("image", [])]
                after = as_torch(stage.submit(data.batch()).wait().arrays["image"])
                good_after = difference(after, data.expected)[0] <= 2
                check(f"odd {name}", good and good_after, f"{said}, refused {bad}, difference {own}")
            except Exception as error:
                check(f"odd {name}", False, f"{type(error).__name__}: {error}")


def check_redo(data: Data) -> None:
    """A row that the GPU refuses is decoded by the CPU, in place."""
    name = "cmyk" if "cmyk" in data.odd else next(iter(data.odd))
    files, boxes = data.files[:8].copy(), data.boxes[:8].copy()
    slot = rows.slot_of(files, boxes, [rows.JPEG] * 8)
    odd = data.odd[name]
    rows.write(slot[5], rows.JPEG, odd, *rows.size_of(odd), boxes[5])
    asked = []

    def redo(field: str, wanted: List[int]) -> List[Dict[str, Any]]:
        asked.extend(wanted)
        for row in wanted:
            pixels = rows.decoded(files[row]).permute(1, 2, 0).contiguous().numpy()
            rows.write(slot[row], rows.PIXELS, pixels.reshape(-1), pixels.shape[1], pixels.shape[0], boxes[row])
        return [{"row": row, "ok": True} for row in wanted]

    with opened() as stage:
        ticket = stage.submit(HostBatch([HostArray("image", slot, "u8")], redo)).wait()
        mean, most = difference(as_torch(ticket.arrays["image"]), data.expected[:8])
        check("redone by the CPU", asked == [5] and mean <= 2, f"rows {asked}, mean {mean}, max {most}")


def check_libraries(data: Data) -> None:
    """The same memory in PyTorch and JAX, and nobody writes into it while it is used."""
    with opened() as stage:
        array = stage.submit(data.batch()).wait().arrays["image"]
        tensor = torch.from_dlpack(array)
        check("the same memory in PyTorch", tensor.data_ptr() == array.address and tensor.is_cuda)
        again = torch.as_tensor(array, device="cuda")
        check("by the CUDA array interface", again.data_ptr() == array.address)
        bf16 = DeviceArrayOf(array, "bf16")
        check("bfloat16", torch.from_dlpack(bf16).dtype == torch.bfloat16)
        del tensor, again, bf16
        try:
            import jax
            import jax.numpy as jnp

            there = jax.dlpack.from_dlpack(array)
            check("the same memory in JAX", there.unsafe_buffer_pointer() == array.address, jax.__version__)

            @jax.jit
            def step(x: Any) -> Any:
                y = x.reshape(BATCH, -1)[:, :4096]
                for _ in range(20):
                    y = jnp.tanh(y @ (y.T @ y) / 1000)
                return x.mean() + 0 * y.sum()

            del there
            means = []
            for i in range(60):
                made = stage.submit(data.batch(i)).wait().arrays["image"]
                means.append(step(jax.dlpack.from_dlpack(made)))
                del made
            wanted = float(data.expected.float().mean() / 255)
            worst = max(abs(float(one) - wanted) for one in means)
            check("60 batches through a jitted step", worst < 1e-3, f"differs by {worst:.2e}")
        except Exception:
            note("JAX", traceback.format_exc()[-600:])


def DeviceArrayOf(array: Any, kind: str) -> Any:
    """The same bytes as another element type."""
    from millrace._cuda.arrays import DeviceArray

    other = DeviceArray(array._driver, array.owner, array.address, (16, 16), kind)
    other.ready = array.ready
    return other


# ------------------------------------------------------------ how fast is it


def rate(step: Callable[[int], None], batches: int, warm: int = 10) -> float:
    for i in range(warm):
        step(i)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for i in range(batches):
        step(i)
    torch.cuda.synchronize()
    return batches * BATCH / (time.perf_counter() - begun)


def measure_nvjpeg(data: Data) -> float:
    driver = driver_of(0)
    with driver.current():
        decoder = nvjpeg.Decoder(nvjpeg.load(driver.version // 1000), nvjpeg.HARDWARE)
        slot = data.slots[0]
        heads = plan.read_heads(slot[:, : rows.WORDS * 4].copy().view(np.uint32), rows.ROOM, "image")
        sizes = plan.aligned(heads.pixels)
        target = torch.empty(int(sizes.sum()), dtype=torch.uint8, device="cuda")
        every = np.arange(BATCH)
        some = plan.bitstreams(
            slot.ctypes.data + rows.WORDS * 4, slot.strides[0], every, heads, target.data_ptr() + plan.places(sizes)
        )
        stream = torch.cuda.Stream().cuda_stream
        value = rate(lambda i: (decoder.decode(some, stream), None)[1], 100)
        decoder.close()
    return value


def measure_stage(data: Data, batches: int = 150, **options: Any) -> Dict[str, float]:
    """Batches submitted three ahead, each waited for by the default stream and dropped."""
    inside: List[float] = []
    decoding: List[float] = []
    with opened(**options) as stage:
        stage_one, decode = stage._stage, nvjpeg.Jpegs.decode

        def timed(*arguments: Any) -> None:
            begun = time.perf_counter()
            stage_one(*arguments)
            inside.append(time.perf_counter() - begun)

        def timed_decode(*arguments: Any) -> Any:
            begun = time.perf_counter()
            try:
                return decode(*arguments)
            finally:
                decoding.append(time.perf_counter() - begun)

        stage._stage = timed  # type: ignore[method-assign]
        nvjpeg.Jpegs.decode = timed_decode  # type: ignore[method-assign]
        ahead: deque = deque()
        handed: List[float] = []

        def step(i: int) -> None:
            while len(ahead) < 3:
                ahead.append(stage.submit(data.batch(i)))
            ticket = ahead.popleft().wait()
            begun = time.perf_counter()
            current = torch.cuda.current_stream()
            ticket.before(current.cuda_stream)
            for value in ticket.arrays.values():
                as_torch(value).record_stream(current)
            stage.reap()
            handed.append(time.perf_counter() - begun)

        try:
            value = rate(step, batches)
        finally:
            nvjpeg.Jpegs.decode = decode  # type: ignore[method-assign]
        while ahead:
            ahead.popleft().wait()
    own = [whole - part for whole, part in zip(inside[10:], decoding[10:])]
    return {
        "img/s": round(value),
        "ms a batch in nvJPEG": round(1e3 * float(np.median(decoding)), 3),
        "ms a batch besides": round(1e3 * float(np.median(own)), 3),
        "ms a batch on the main thread": round(1e3 * float(np.median(handed)), 3),
    }


def measure_memory(data: Data, batches: int) -> None:
    driver = driver_of(0)

    def used() -> int:
        with driver.current():
            free, total = driver.free_memory()
        return (total - free) >> 20

    with opened() as stage:
        ahead: deque = deque()
        seen = []
        for i in range(batches):
            ahead.append(stage.submit(data.batch(i)))
            if len(ahead) == 3:
                ticket = ahead.popleft().wait()
                ticket.arrays["image"].use_on(1)
                del ticket
                stage.reap()
            if i % max(1, batches // 10) == batches // 10 - 1:
                torch.cuda.synchronize()
                seen.append(used())
        check(f"device memory over {batches} batches", max(seen[1:]) <= seen[1] + 2, f"{seen} MiB")


def measure_photographs(path: Path) -> None:
    """The larger ones: b0 …"""
    data = Data(path, "b")
    note("photographs: nvJPEG alone img/s", round(measure_nvjpeg(data)))
    for blocks in (16, 32):
        note(f"photographs: f32, {blocks} blocks", measure_stage(data, 60, dtype="f32", blocks=blocks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jpegs", type=Path)
    parser.add_argument("--batches", type=int, default=2000, help="for flat memory")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.zeros(1, device="cuda")
    driver = driver_of(0)
    note(
        "device",
        f"{driver.name}, {driver.multiprocessors} multiprocessors, CUDA {driver.version}, {driver.architecture}",
    )
    data = Data(args.jpegs)
    begun = time.perf_counter()
    opened().close()
    note("opened in s", round(time.perf_counter() - begun, 2))
    parts: List[Callable[[], Any]] = [
        lambda: check_values(data),
        lambda: check_odd(data),
        lambda: check_redo(data),
        lambda: check_libraries(data),
        lambda: note("nvJPEG alone img/s", round(measure_nvjpeg(data))),
        *[
            lambda d=dtype, b=blocks: note(f"{d}, {b} blocks", measure_stage(data, dtype=d, blocks=b))
            for dtype in ("f32", "u8")
            for blocks in (8, 16, 32, 64)
        ],
        lambda: note("f32, PyTorch's memory", measure_stage(data, dtype="f32", torch_memory=True)),
        lambda: measure_memory(data, args.batches),
        lambda: measure_photographs(args.jpegs),
    ]
    for part in parts:
        try:
            part()
        except Exception:
            note(f"part {parts.index(part)} FAILED", traceback.format_exc()[-1500:])
        if args.out:
            args.out.write_text(json.dumps(result, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
