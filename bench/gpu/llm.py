"""A GPT of 124 M parameters on a GPU: what it eats when its batch is there already, and what it gets from feeds.

Rows of 1,024 tokens in bf16. The feed has one worker, blends four corpora whose files are taken out of the page cache before each turn, and
delivers cuSeqlens besides. DataLoader has a dataset as nanoGPT's get_batch reads its file. All take turns in this process.

    python3 bench/gpu/llm.py --data DIR --out DIR     about 150 s
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from support import Result, Turns, arguments, synchronize
from torch import nn
from torch.nn import functional as F

import millrace

VOCABULARY = 50304
EOD = 50256
CORPORA = {"web": 5, "books": 2, "code": 2, "papers": 1}
Step = Callable[[torch.Tensor, torch.Tensor], None]


class Size:
    """Of the model, its batches and its data; small where it is only tried out."""

    def __init__(self, dry: bool) -> None:
        self.layers, self.width, self.heads = (2, 64, 2) if dry else (12, 768, 12)
        self.length, self.batch = (64, 4) if dry else (1024, 32)
        self.vocabulary = 512 if dry else VOCABULARY
        self.tokens = 200_000 if dry else 256 << 20
        self.steps, self.warm = (4, 1) if dry else (120, 15)


# ------------------------------------------------------------ the model


class Block(nn.Module):
    """One layer of GPT-2."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (
            one.view(b, t, self.heads, -1).transpose(1, 2) for one in self.qkv(self.first(x)).split(c, 2)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2, its weights tied."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.places = nn.Embedding(size.length, size.width)
        self.blocks = nn.Sequential(*(Block(size.width, size.heads) for _ in range(size.layers)))
        self.last = nn.LayerNorm(size.width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        x = self.last(self.blocks(self.tokens(x) + self.places(places)))
        logits = x @ self.tokens.weight.T
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1), ignore_index=-100)


def trainer(size: Size, device: str) -> tuple[Step, int]:
    """One training step in bf16, compiled where that works; and how many parameters the model has."""
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = Gpt(size).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-4, fused=device == "cuda")
    compiled = torch.compile(model) if device == "cuda" else model

    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = compiled(x, y)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step, sum(parameter.numel() for parameter in model.parameters())


# ------------------------------------------------------------ the data


def corpora(folder: Path, size: Size) -> dict[str, Path]:
    """Four corpora as Megatron-LM's .bin and .idx, made of random tokens in documents of some 700."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    for name in CORPORA:
        path = folder / f"{name}.bin"
        if path.exists() and path.stat().st_size == 2 * size.tokens and path.with_suffix(".idx").exists():
            continue
        lengths = random.geometric(1 / 700, 2 * size.tokens // 700).astype(np.int64)
        ends = np.cumsum(lengths)
        ends = ends[ends < size.tokens]
        ends = np.append(ends, size.tokens)
        lengths = np.diff(ends, prepend=0)
        with path.open("wb") as out:
            for at in range(0, size.tokens, 1 << 24):
                random.integers(0, 500, min(1 << 24, size.tokens - at), dtype=np.uint16).tofile(out)
        with path.with_suffix(".idx").open("wb") as out:
            count = len(lengths)
            out.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, count, count + 1))
            lengths.astype(np.int32).tofile(out)
            (2 * (ends - lengths)).astype(np.int64).tofile(out)
            np.arange(count + 1, dtype=np.int64).tofile(out)
    return {name: folder / f"{name}.bin" for name in CORPORA}


def cold(paths: dict[str, Path]) -> None:
    """Takes the files out of the page cache."""
    for path in paths.values():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


# ------------------------------------------------------------ contenders


def rate(batches: Iterator[Any], step: Step, size: Size) -> float:
    """Tokens a second after warming up, to the end of the last step on the GPU."""
    begun = 0.0
    for done, (x, y) in enumerate(batches):
        if done == size.warm:
            synchronize()
            begun = time.perf_counter()
        step(x, y)
        if done + 1 == size.warm + size.steps:
            break
    synchronize()
    return size.steps * size.batch * size.length / (time.perf_counter() - begun)


def there_already(size: Size, device: str) -> Iterator[Any]:
    """One batch that never leaves the device."""
    rows = torch.randint(0, 500, (size.batch, size.length + 1), device=device)
    while True:
        yield rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def fed(args: Any, paths: dict[str, Path], step: Step, size: Size) -> Any:
    """The training rate with a feed of one worker, from cold files."""
    entries = [
        {
            "source": {"tokens": {"path": str(path), "length": size.length}},
            "weight": CORPORA[name],
            "name": name,
        }
        for name, path in paths.items()
    ]
    definition = {
        "source": {"blend": {"entries": entries}},
        "fields": ["input", "target", "cuSeqlens"],
        "order": {"shuffle": "global", "seed": int.from_bytes(os.urandom(3), "little")},
        "batch": size.batch,
    }
    cold(paths)
    with millrace.Feed(definition, workers=1) as feed:
        view = feed.torch() if args.dry else feed.torch(device="cuda")

        def batches() -> Iterator[Any]:
            for batch in view:
                assert batch["cuSeqlens"].shape[0] == size.batch * size.length
                yield batch["input"], batch["target"]

        value = rate(batches(), step, size)
        return value, {"waitedMs": round(feed.stats()["waitMs"])}


class Tokens(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Rows at random, as nanoGPT's get_batch takes them."""

    def __init__(self, path: Path, length: int) -> None:
        self.path, self.length = path, length
        self.rows = path.stat().st_size // 2 // length - 1

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int) -> Any:
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        row = torch.from_numpy(data[i * self.length : (i + 1) * self.length + 1].astype(np.int64))
        return row[:-1], row[1:]


def loaded(args: Any, paths: dict[str, Path], step: Step, size: Size, device: str, workers: int) -> float:
    """The training rate with PyTorch's DataLoader."""
    cold(paths)
    data = torch.utils.data.ConcatDataset([Tokens(path, size.length) for path in paths.values()])
    loader = torch.utils.data.DataLoader(
        data, size.batch, shuffle=True, num_workers=workers, pin_memory=not args.dry, drop_last=True
    )

    def batches() -> Iterator[Any]:
        for x, y in loader:
            yield x.to(device, non_blocking=True), y.to(device, non_blocking=True)

    return rate(batches(), step, size)


def main() -> None:
    args = arguments(__doc__)
    size, device = Size(args.dry), "cpu" if args.dry else "cuda"
    step, parameters = trainer(size, device)
    work = f"bf16, rows of {size.length}, batch {size.batch}, 4 blended corpora, cuSeqlens, one worker, cold files"
    result = Result(
        args, "llm", f"a GPT of {parameters / 1e6:.0f} M parameters: {work}; tokens/s", "tokens/s"
    )
    result.put("cache", "files taken out of the page cache before each turn")
    paths = corpora(args.data / "tokens", size)
    result.say(f"{4 * size.tokens:,} tokens in {args.data / 'tokens'}")
    rate(there_already(size, device), step, size)  # it is compiled, clocks go up
    turns = Turns(args, result)
    for turn in range(args.rounds):
        turns.take("cached", partial(rate, there_already(size, device), step, size))
        turns.take("feed", partial(fed, args, paths, step, size))
        for workers in (1, 4) if turn == 0 else (1,):
            words = "1 worker" if workers == 1 else f"{workers} workers"
            turns.take(f"DataLoader, {words}", partial(loaded, args, paths, step, size, device, workers))
    found = result.found["results"]
    for name in found:
        if name != "cached" and "cached" in found:
            result.say(
                f"{name}: {found[name]['median'] / found['cached']['median']:.2%} of the cached batch's rate"
            )
    result.done()


main()
