"""Compressed arrays on a real GPU: is nvCOMP right, and how fast beside the CPU's makers.

    MILLRACE_CUDA_PATH=FOLDER_OF_LIBNVCOMP python3 bench/gpu/check_nvcomp.py --data DIR --out DIR

256 arrays, f32 [64, 64, 16], a batch; 64 MiB. Everything is compared byte for byte with what was compressed:

    stage   rows made by hand, in page-locked memory: what the device stage makes of them, without an engine
    feed    shards of a feed of ours, with decode="gpu" and decode="cpu"

zstd and LZ4 are compressed by the machine's libzstd.so.1 and liblz4.so.1.
"""

from __future__ import annotations

import ctypes
import gzip
import io
import mmap
import statistics
import sys
import tarfile
import time
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
from support import BATCH, Result, arguments, synchronize

import millrace

SHAPE = (64, 64, 16)
SIZE = 64 * 64 * 16 * 4
HEAD = 64
#: Arrays that differ; a batch has them again and again.
DIFFERENT = 32
#: Batches that a measurement takes after those that warm it up.
STEPS, WARM = 60, 10
KERNELS = Path(__file__).resolve().parents[2] / "packages/pixels/transform/kernels/cuda"

Pack = Callable[[bytes], bytes]


# ------------------------------------------------------------ data


def arrays() -> "np.ndarray[Any, Any]":
    """Fields as a simulation has them: smooth, with a little noise, rounded to what is worth keeping."""
    random = np.random.default_rng(11)
    x, y, z = np.meshgrid(*(np.linspace(0, 6, n) for n in SHAPE), indexing="ij")
    made = []
    for _ in range(DIFFERENT):
        a, b, c, d = random.uniform(0.3, 3, 4)
        smooth = np.sin(a * x + b) * np.cos(c * y) + d * z
        made.append(np.round((smooth + random.normal(0, 0.004, SHAPE)) * 128) / 128)
    return np.stack(made).astype("<f4")


def deflate(data: bytes) -> bytes:
    """Without header and checksum."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def by_library(file: str, bound: str, call: Callable[[Any, Any, int, bytes], int]) -> Optional[Pack]:
    """What a C library compresses; None where there is no such library."""
    try:
        library = ctypes.CDLL(file)
    except OSError:
        return None

    def pack(data: bytes) -> bytes:
        most = getattr(library, bound)
        most.restype = ctypes.c_size_t
        room = int(most(ctypes.c_size_t(len(data))))
        out = ctypes.create_string_buffer(room)
        length = call(library, out, room, data)
        assert 0 < length <= room, f"{file} refused to compress"
        return out.raw[:length]

    return pack


def zstd(library: Any, out: Any, room: int, data: bytes) -> int:
    """At level 3."""
    call = library.ZSTD_compress
    call.restype = ctypes.c_size_t
    call.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    return int(call(out, room, data, len(data), 3))


def lz4(library: Any, out: Any, room: int, data: bytes) -> int:
    """A bare block."""
    return int(library.LZ4_compress_default(data, out, len(data), room))


def packs() -> dict[str, Pack]:
    """What arrays can be compressed by here."""
    found = {
        "zstd": by_library("libzstd.so.1", "ZSTD_compressBound", zstd),
        "lz4": by_library("liblz4.so.1", "LZ4_compressBound", lz4),
        "deflate": deflate,
        "zlib": zlib.compress,
        "gzip": gzip.compress,
    }
    return {codec: pack for codec, pack in found.items() if pack is not None}


def shards(folder: Path, codec: str, packed: list[bytes], batches: int) -> Path:
    """A shard of so many batches."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{codec}.tar"
    with tarfile.open(path, "w") as tar:
        for i in range(batches * BATCH):
            info = tarfile.TarInfo(f"{i:06d}.bin")
            data = packed[i % DIFFERENT]
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


# ------------------------------------------------------------ the stage alone


def stream_of(codec: str, packed: bytes) -> tuple[str, bytes]:
    """What a maker leaves to the device: packages/pixels/transform/device/compressed.ts."""
    if codec == "zlib":
        return "deflate", packed[2:-4]
    return ("deflate", packed[10:-8]) if codec == "gzip" else (codec, packed)


@contextmanager
def locked_slot(streams: list[bytes]) -> "Iterator[np.ndarray[Any, Any]]":
    """Rows as a maker writes them, page-locked: memory that goes while it is locked stays so, for CUDA."""
    from millrace._cuda.driver import driver_of

    stride = HEAD + SIZE
    pages = np.frombuffer(mmap.mmap(-1, BATCH * stride), np.uint8).reshape(BATCH, stride)
    for row in range(BATCH):
        data = streams[row % DIFFERENT]
        pages[row, :HEAD].view("<u4")[:3] = 1, len(data), SIZE
        pages[row, HEAD : HEAD + len(data)] = np.frombuffer(data, np.uint8)
    driver = driver_of(0)
    with driver.current():
        driver.register(pages.ctypes.data, pages.nbytes)
    try:
        yield pages
    finally:
        with driver.current():
            driver.unregister(pages.ctypes.data)


def check_stage(result: Result, codec: str, packed: list[bytes], expected: "np.ndarray[Any, Any]") -> None:
    """Byte for byte, and GB/s of what comes out."""
    import torch

    from millrace._cuda.memory import TorchMemory
    from millrace._gpu.stage import open_stage
    from millrace._gpu.ticket import HostArray, HostBatch

    name, streams = stream_of(codec, packed[0])[0], [stream_of(codec, one)[1] for one in packed]
    told = {"kind": "compressed", "codec": name, "dtype": "f32", "shape": list(SHAPE), "headBytes": HEAD}
    truth = torch.from_numpy(expected).cuda()
    memory = lambda _: TorchMemory(torch, "cuda:0")  # noqa: E731
    with locked_slot(streams) as slot, open_stage({"x": told}, KERNELS, memory=memory) as stage:
        batch = HostBatch([HostArray("x", slot, "u8")])
        ticket = stage.submit(batch).wait(60)
        ticket.before(torch.cuda.current_stream().cuda_stream)
        wrong = wrong_rows(ticket.arrays["x"], truth) + [one["row"] for one in ticket.bad.get("x", [])]
        result.put(f"stage {codec}: wrong rows", wrong)
        result.say(f"stage {codec}: {'ok' if not wrong else f'WRONG {wrong[:8]} {ticket.bad}'}")
        tickets: Any = deque()
        begun = 0.0
        for step in range(WARM + STEPS):
            if step == WARM:
                torch.cuda.synchronize()
                begun = time.perf_counter()
            tickets.append(stage.submit(batch))
            if len(tickets) > 2:
                tickets.popleft().wait(60)
            stage.reap()
        while tickets:
            tickets.popleft().wait(60)
        torch.cuda.synchronize()
        rate = STEPS * BATCH * SIZE / (time.perf_counter() - begun) / 1e9
    result.put(f"stage {codec}: GB/s", round(rate, 2))
    result.say(f"stage {codec}: {rate:.1f} GB/s come out")


def wrong_rows(found: Any, truth: Any) -> list[int]:
    """Rows whose bytes differ; ``truth`` has them once."""
    import torch

    rows = found.reshape(-1, SIZE // 4).view(torch.int32)
    right = truth.reshape(DIFFERENT, -1).view(torch.int32)
    whole = right.repeat((len(rows) + DIFFERENT - 1) // DIFFERENT, 1)[: len(rows)]
    return torch.nonzero((rows != whole).any(dim=1)).flatten().tolist()


# ------------------------------------------------------------ a feed


def check_feed(args: Any, result: Result, codec: str, path: Path, decode: str, truth: Any) -> None:
    """The same bytes, whoever decompresses, and GB/s of what comes out."""
    field = millrace.npy("bin", shape=SHAPE, dtype="f32").compression(codec)
    built = millrace.tar(str(path)).fields(x=field).batch(BATCH)
    rates = []
    for turn in range(args.rounds):
        with millrace.Feed(built.json(), workers=args.workers, epochs=None, steps=WARM + STEPS) as feed:
            batches = feed.torch() if args.dry else feed.torch(device="cuda", decode=decode)
            begun = 0.0
            for step, batch in enumerate(batches):
                if step == 0:
                    wrong = wrong_rows(batch["x"], truth)
                    result.put(f"feed {codec} {decode}: wrong rows", wrong)
                    if turn == 0:
                        result.say(f"feed {codec}, {decode}: {'ok' if not wrong else f'WRONG {wrong[:8]}'}")
                if step == WARM:
                    synchronize()
                    begun = time.perf_counter()
                del batch
            synchronize()
            rates.append(STEPS * BATCH * SIZE / (time.perf_counter() - begun) / 1e9)
    result.put(f"feed {codec} {decode}: GB/s", [round(rate, 2) for rate in rates])
    result.say(f"feed {codec}, {decode}: {statistics.median(rates):.2f} GB/s come out")


def main() -> None:
    """Every codec, by the stage alone and by a feed."""
    global STEPS, WARM
    args = arguments(__doc__)
    if args.dry:
        STEPS, WARM, args.rounds = 2, 1, 1
    result = Result(args, "nvcomp", "compressed arrays, f32 [64, 64, 16], 256 a batch")
    if not args.dry:
        from millrace._cuda import nvcomp

        result.put("nvcomp", nvcomp.version_text(nvcomp.load().version))
        result.say(f"nvCOMP {result.found['nvcomp']}")
    plain = arrays()
    import torch

    truth = torch.from_numpy(plain) if args.dry else torch.from_numpy(plain).cuda()
    for codec, pack in packs().items():
        packed = [pack(one.tobytes()) for one in plain]
        ratio = plain.nbytes / sum(map(len, packed))
        result.put(f"ratio {codec}", round(ratio, 2))
        result.say(f"{codec}: compressed {ratio:.2f} : 1")
        path = shards(args.data / "compressed", codec, packed, 1 if args.dry else 4)
        try:
            if not args.dry:
                check_stage(result, codec, packed, plain)
            for decode in ("cpu",) if args.dry else ("gpu", "cpu"):
                check_feed(args, result, codec, path, decode, truth)
        except Exception as error:  # noqa: BLE001  one that fails must not keep the others from being tried
            result.failed(codec, error)
    result.done()
    wrong = [name for name, rows in result.found.items() if name.endswith("wrong rows") and rows]
    sys.exit(1 if wrong or result.found.get("failures") else 0)


if __name__ == "__main__":
    main()
