"""ResNet-18 on a GPU with planted causes, each diagnosed on the running trainer.

    bash bench/diagnose/there gpu --out OUT [--only NAMES] [--seconds S] [--dry]

Each case is a trainer in a process of its own. Without the fault and with it, its images a second are measured; then
``millrace diagnose --attach PID --json --record OUT/NAME.json.gz`` looks at it. ``OUT/gpu-diagnose.json`` has all
that was found, ``OUT/gpu-diagnose.md`` a table. ``--dry`` tries it out without a GPU: small, and the figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NODE = os.environ.get("MILLRACE_NODE", "node")
SIZES = {"batch": 256, "tiny": 8, "wide": 256}
DRY = {"batch": 8, "tiny": 4, "wide": 8}


def cases(cores: int) -> dict[str, dict[str, Any]]:
    """What is planted, what it should be called, and what is changed to remove it."""
    return {
        "case-1": {
            "names": ["compute-bound"],
            "with": {},
            "without": {},
            "what": "nothing",
        },
        "case-2": {
            "names": ["storage-bandwidth"],
            "with": {"store": {"bytesPerSecond": 100_000_000}},
            "without": {"store": {}},
            "what": "a store of 100 MB/s (ResNet-18 takes 390)",
        },
        "case-3": {
            "names": ["io-latency"],
            "with": {"store": {"latencyMs": 25}, "workers": 4},
            "without": {"store": {}, "workers": 4},
            "what": "a store that answers after 25 ms, 4 workers",
        },
        "case-4": {
            "names": ["your-function"],
            "with": {"fn": {"sleepMs": 4}, "workers": cores - 2},
            "without": {"fn": {}, "workers": cores - 2},
            "what": "a function that sleeps 4 ms a sample",
        },
        "case-5": {
            "names": ["cpu-saturated", "under-parallel"],
            "with": {"fn": {"rounds": 600_000}, "workers": cores},
            "without": {"fn": {}, "workers": cores},
            "what": "a function that works 4 ms a sample, as many workers as cores",
        },
        "case-6": {
            "names": ["under-parallel"],
            "with": {"workers": 2},
            "without": {"workers": cores - 2},
            "what": "2 workers, decode=cpu",
        },
        "case-7": {
            "names": ["transfer-bound"],
            "with": {"feed": "wide", "model": "sum"},
            "without": {"feed": "rows", "model": "sum"},
            "what": "batches of 256 MB, hardly any computing",
        },
        "case-8": {
            "names": ["launch-bound"],
            "with": {"feed": "rows", "model": "thin"},
            "without": {"feed": "rows", "model": "thin"},
            "what": "200 tiny layers on batches of 8",
        },
    }


# ------------------------------------------------------------ the trainer


def train(setting: dict[str, Any]) -> None:
    """Trains until it is ended; writes its steps and the time to a file, ten times a second."""
    import millrace
    import torch

    device = "cpu" if setting["dry"] else "cuda"
    step = model(torch, setting["model"], device)
    options = {"workers": setting["workers"], "epochs": None}
    if setting.get("plugin"):
        options["plugins"] = [setting["plugin"]]
    with millrace.Feed(setting["feed_file"], **options) as feed:
        batches = (
            feed.torch() if setting["dry"] else feed.torch(device="cuda", decode="cpu")
        )
        written = 0.0
        for steps, batch in enumerate(batches, 1):
            step(next(iter(batch.values())))
            now = time.monotonic()
            if now - written > 0.1:
                written = now
                Path(setting["told"]).write_text(
                    json.dumps({"steps": steps, "at": now})
                )


def model(torch: Any, name: str, device: str) -> Any:
    """One training step of a model on the first field of a batch."""
    if name == "resnet18":
        import torchvision

        net = torchvision.models.resnet18(num_classes=1000).to(
            device, memory_format=torch.channels_last
        )
    elif name == "thin":
        layers = [torch.nn.Linear(64, 64) for _ in range(200)]
        net = torch.nn.Sequential(torch.nn.Linear(4096, 64), *layers).to(device)
    elif name == "tiny":
        net = torch.nn.Sequential(
            torch.nn.AvgPool2d(32), torch.nn.Flatten(), torch.nn.Linear(147, 10)
        ).to(device)
    else:
        return lambda data: data.view(-1)[:1000].float().sum()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(data: Any) -> None:
        if data.dim() == 4:
            data = data.contiguous(memory_format=torch.channels_last)
        if name == "thin":
            data = data.float() / 255
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = net(data).float().square().mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return step


# ------------------------------------------------------------ the examiner


class Trainer:
    """A trainer in a process of its own, on a setting."""

    def __init__(self, folder: Path, setting: dict[str, Any]) -> None:
        self.setting = {**setting, "told": str(folder / "told.json")}
        folder.mkdir(parents=True, exist_ok=True)
        words = json.dumps(
            {
                key: setting[key]
                for key in ("feed", "batch", "workers", "store", "fn", "image")
                if key in setting
            }
        )
        written = subprocess.run(
            [NODE, str(HERE / "gpu-feed.mjs"), str(folder), setting["data"], words],
            check=True,
            capture_output=True,
            text=True,
        )
        self.setting.update(json.loads(written.stdout))
        self.log = (folder / "log.txt").open("w")
        command = [
            sys.executable,
            str(Path(__file__).resolve()),
            "--train",
            json.dumps(self.setting),
        ]
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def told(self) -> tuple[int, float]:
        """Steps so far, and when."""
        try:
            found = json.loads(Path(self.setting["told"]).read_text())
        except (OSError, ValueError):
            return 0, 0.0
        return found["steps"], found["at"]

    def ready(self, steps: int, limit: float) -> None:
        """Waits until so many steps are done."""
        until = time.monotonic() + limit
        while self.told()[0] < steps:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(
                    Path(self.log.name).read_text()[-1500:]
                    or "it did not begin in time"
                )
            time.sleep(0.1)

    def rate(self, seconds: float) -> float:
        """Steps a second."""
        before = self.told()
        time.sleep(seconds)
        after = self.told()
        return (after[0] - before[0]) / max(1e-6, after[1] - before[1])

    def end(self) -> None:
        """Ends it and what it started."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.log.close()


def diagnose(pid: int, record: Path, limit: float) -> dict[str, Any]:
    """What ``millrace diagnose`` says of a running trainer."""
    words = [
        "diagnose",
        "--attach",
        str(pid),
        "--json",
        "--record",
        str(record),
    ]
    found = subprocess.run(
        [NODE, str(ROOT / "dist/cli/main.js"), *words],
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    try:
        return dict(json.loads(found.stdout))
    except ValueError:
        return {
            "verdict": None,
            "error": f"{found.returncode}: {(found.stderr or found.stdout)[-1500:]}",
        }


def examine(
    name: str, case: dict[str, Any], args: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """One case: without the fault, then with it, then diagnosed."""
    sizes = DRY if args.dry else SIZES
    picture = "tiny" if args.dry else "resnet18"
    found: dict[str, Any] = {"name": name, "what": case["what"], "names": case["names"]}
    for side in ("without", "with"):
        change = case[side]
        chosen = change.get("model", picture)
        batch = (
            sizes["tiny"]
            if chosen == "thin"
            else sizes["wide"]
            if chosen == "sum"
            else sizes["batch"]
        )
        base = {
            "feed": "jpeg",
            "model": picture,
            "batch": batch,
            "workers": max(1, args.cores - 2),
        }
        setting = {
            **base,
            **change,
            "data": str(args.data),
            "dry": args.dry,
            "image": "f32",
        }
        trainer = Trainer(folder / name / side, setting)
        try:
            trainer.ready(4 if args.dry else 20, 60)
            found[side] = {"steps/s": trainer.rate(args.seconds), "setting": change}
            if side == "with":
                found["diagnosis"] = diagnose(
                    trainer.process.pid, args.out / f"{name}.json.gz", 90
                )
        finally:
            trainer.end()
    found["gain"] = (
        found["without"]["steps/s"] / max(1e-9, found["with"]["steps/s"]) - 1
    )
    if case["with"].get("feed") == "wide":
        del found["gain"]  # steps of other sizes are not compared
    found["right"] = found["diagnosis"]["verdict"] in case["names"]
    return found


def table(results: list[dict[str, Any]]) -> str:
    """What was found, in words."""
    lines = [
        "| case | planted | removing it gains | wanted | verdict, second | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in results:
        said = one.get("diagnosis", {})
        verdict = (
            f"{said.get('verdict')}, {said.get('second')}"
            if said.get("verdict")
            else one.get("failed") or said.get("error")
        )
        gain = f"{one['gain']:.1%}" if "gain" in one else "–"
        cells = [
            one["name"],
            one["what"],
            gain,
            " or ".join(one["names"]),
            str(verdict)[-150:].replace("\n", " "),
        ]
        lines.append(
            f"| {' | '.join(cells)} | {'right' if one.get('right') else 'WRONG'} |"
        )
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> None:
    """All cases, one after the other; what is known is written after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "millrace-exam-data"
    )
    parser.add_argument("--only", help="names of cases: case-2,case-6")
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="length of a measurement"
    )
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args(words)
    if args.train:
        return train(json.loads(args.train))
    args.out.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [NODE, str(HERE / "gpu-feed.mjs"), "--data", str(args.data)], check=True
    )
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases(args.cores).items():
            if args.only and name not in args.only.split(","):
                continue
            begun = time.monotonic()
            try:
                found = examine(name, case, args, Path(folder))
            except Exception as error:  # noqa: BLE001  the other cases go on
                found = {
                    "name": name,
                    "what": case["what"],
                    "names": case["names"],
                    "failed": f"{error}",
                }
            results.append(found)
            print(
                table([found]).splitlines()[-1],
                f"({time.monotonic() - begun:.0f} s)",
                flush=True,
            )
            (args.out / "gpu-diagnose.json").write_text(
                json.dumps(results, indent=1) + "\n"
            )
            (args.out / "gpu-diagnose.md").write_text(table(results))


if __name__ == "__main__":
    main()
