"""What every part of the suite needs: arguments, the machine in words, results that are kept as they come.

A part is a program of its own: ``python3 bench/gpu/rates.py gpu --data DIR --out DIR``. ``--dry`` tries it
out on a machine without a GPU: everything stays on the CPU and is small, and the figures mean nothing.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.metadata
import json
import logging
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Optional

BATCH = 256
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROP = [{"randomResizedCrop": {"size": 224}}, {"flip": {"p": 0.5}}]
NORMALISED = [*CROP, {"normalize": "imagenet"}]
PACKAGES = ("torch", "torchvision", "jax", "numpy", "cupy-cuda13x", "millrace")


def arguments(what: Optional[str], add: Any = None) -> argparse.Namespace:
    """The arguments that all parts have, and those that ``add(parser)`` adds."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--data", type=Path, required=True, help="folder that data.py has filled")
    parser.add_argument("--out", type=Path, required=True, help="folder for gpu-*.json")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="DataLoader's workers")
    parser.add_argument("--workers", type=int, help="the engine's threads (two less than cores)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1e9, help="what does not fit into this is left out")
    parser.add_argument("--dry", action="store_true", help="without a GPU, small: only to try this out")
    if add is not None:
        add(parser)
    given = parser.parse_args()
    given.workers = given.workers or max(1, given.cores - 2)
    # Lines about epochs and decisions are in the results.
    logging.getLogger("millrace").setLevel(logging.WARNING)
    given.until = time.monotonic() + given.seconds
    # The suite asks where a part stands before it stops it.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    return given


# ------------------------------------------------------------ feeds


def definition(shards: Path, apply: Any = NORMALISED, batch: Any = None, **image: Any) -> dict[str, Any]:
    """A feed of pictures in tar shards; ``image``: more about the field of that name."""
    return {
        "source": {"tar": f"{shards}/*.tar"},
        "order": {"shuffle": "global", "seed": 1},
        "fields": {
            "image": {"from": "jpg", "as": "image", "apply": apply, **image},
            "label": {"from": "cls", "as": "int"},
        },
        "batch": batch or BATCH,
    }


def on_device(args: argparse.Namespace, feed: Any, decode: Optional[str], **more: Any) -> Any:
    """The feed's batches on the GPU; ``decode`` None: nothing is said about it."""
    if args.dry:
        return feed.torch()
    return feed.torch(device="cuda", **({} if decode is None else {"decode": decode}), **more)


def decisions(folder: Path) -> list[dict[str, Any]]:
    """What the tuner did, out of the run's log."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        for line in lines:
            for one in line.get("decisions", []):
                keys = ("time", "event", "knob", "from", "to", "reason", "lost")
                found.append({key: one.get(key) for key in keys})
    return found


def device_stats(feed: Any) -> dict[str, Any]:
    """What the feed says about the device."""
    return dict(feed.stats().get("device", {}))


def synchronize() -> None:
    """All that was given to the GPU is done."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


# ------------------------------------------------------------ measuring


def rate_for(batches: Iterable[Any], seconds: float, warm: int = 20) -> float:
    """Images a second over some seconds; the first ``warm`` batches come from what was made ahead."""
    begun = 0.0
    done = 0
    for batch in batches:
        if done == warm:
            synchronize()
            begun = time.perf_counter()
        done += 1
        del batch
        if done > warm and time.perf_counter() - begun > seconds:
            break
    synchronize()
    return (done - warm) * BATCH / (time.perf_counter() - begun)


class Result:
    """What a part finds out: ``gpu-NAME.json``, written after every figure, so that it outlives the part."""

    def __init__(self, args: argparse.Namespace, name: str, what: str, unit: str = "img/s") -> None:
        self._unit = unit
        self._path = args.out / f"gpu-{name}.json"
        self._begun = time.monotonic()
        self.found: dict[str, Any] = {"name": f"gpu-{name}", "what": what, **stamp(args), "results": {}}
        self.save()

    def note(self, contender: str, value: float, **more: Any) -> None:
        """One more value of a contender; ``more`` is kept beside it."""
        entry = self.found["results"].setdefault(contender, {"median": 0.0, "values": []})
        entry["values"].append(value)
        entry["median"] = statistics.median(entry["values"])
        for key, one in more.items():
            entry.setdefault(key, []).append(one)
        words = "".join(f", {key} {shown(one)}" for key, one in more.items())
        self.say(f"{contender}: {value:,.0f} {self._unit}{words}")

    def put(self, key: str, value: Any) -> None:
        """Something that is not measured again and again."""
        self.found[key] = value
        self.save()

    def failed(self, contender: str, error: BaseException) -> None:
        """A contender that could not be measured; the others go on."""
        self.found.setdefault("failures", {})[contender] = f"{type(error).__name__}: {error}"
        self.say(f"{contender}: FAILED: {type(error).__name__}: {error}")

    def say(self, line: str) -> None:
        """For whoever watches."""
        print(line, flush=True)
        self.save()

    def done(self) -> None:
        """It has come to its end."""
        self.put("complete", True)

    def save(self) -> None:
        """Appears by rename."""
        self.found["seconds"] = round(time.monotonic() - self._begun, 1)
        self.found.setdefault("complete", False)
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(self.found, indent=2, default=str) + "\n")
        draft.replace(self._path)


def shown(value: Any) -> str:
    """A share as per cent, the rest as it is."""
    return f"{value:.1%}" if isinstance(value, float) else str(value)


class Turns:
    """Contenders take turns; what would not be done in time, going by its last turn, is left out."""

    def __init__(self, args: argparse.Namespace, result: Result) -> None:
        self._until = args.until
        self._result = result
        self._took: dict[str, float] = {}

    def take(self, contender: str, measure: Any) -> None:
        """``measure()`` gives a rate, or a rate and what to keep beside it."""
        begun = time.monotonic()
        if begun + self._took.get(contender, 8.0) > self._until:
            self._result.found.setdefault("left out", []).append(contender)
            self._result.say(f"{contender}: left out, there is no time for it")
            return
        try:
            found = measure()
        except Exception as error:  # noqa: BLE001  one that fails must not keep the others from being measured
            self._result.failed(contender, error)
            return
        self._took[contender] = time.monotonic() - begun
        value, more = found if isinstance(found, tuple) else (found, {})
        self._result.note(contender, value, **more)


# ------------------------------------------------------------ where it ran


def stamp(args: argparse.Namespace) -> dict[str, Any]:
    """Machine, versions, date, command: what a figure means nothing without."""
    gpu = nvidia_smi("name,memory.total,driver_version")
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": f"{os.cpu_count()} × {cpu()}, {memory_gib()} GiB, Linux {platform.release()}",
        "gpu": ", ".join(gpu[:2]) if gpu else "none",
        "driver": gpu[2] if gpu else None,
        "versions": versions(),
        "commit": os.environ.get("MILLRACE_GPU_COMMIT"),
        "cache": "page cache warm",
        "command": os.environ.get("MILLRACE_GPU_COMMAND", " ".join(["python3", *sys.argv])),
        "dry": args.dry,
    }


def nvidia_smi(query: str) -> list[str]:
    """What nvidia-smi says of the first GPU; nothing where there is none."""
    line = ["nvidia-smi", "-i", "0", f"--query-gpu={query}", "--format=csv,noheader"]
    try:
        told = subprocess.run(line, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [part.strip() for part in told.strip().split(",")]


def gpu_memory_mib() -> Optional[int]:
    """Memory of the GPU in use, by whomever."""
    told = nvidia_smi("memory.used")
    return int(told[0].split()[0]) if told else None


def versions() -> dict[str, str]:
    """Of everything that has a part in the figures."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    try:
        from millrace._client.node import node

        found["node"] = subprocess.run([node(), "--version"], capture_output=True, text=True).stdout.strip()
    except Exception:  # noqa: BLE001  a version that nobody knows
        pass
    return found


def cpu() -> str:
    """The processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_gib() -> int:
    """All of it."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def marked(mark: str) -> list[int]:
    """Processes that were started with this in their environment, and run still."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state != "Z" and mark.encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            pass  # it is gone, or not ours
    return found


def engines(mark: str) -> list[int]:
    """The engines among them."""
    found = []
    for pid in marked(mark):
        try:
            if b"\0serve\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            pass
    return found
