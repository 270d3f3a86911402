"""Runs the parts of the GPU suite one after the other, each in a process of its own with a time limit. A part
that fails, hangs or is not there keeps no other from being run.

    bench/gpu/run --out OUT [--only NAMES] [--skip NAMES] [--seconds S] [--tar FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Optional

from support import stamp

HERE = Path(__file__).resolve().parent
DIST = HERE.parent.parent / "build"


@dataclass
class Part:
    """Programs with their arguments, which may have {data}, {out}, {json}, {seconds} and {dist} in them."""

    name: str
    lines: list[list[str]]
    #: What it takes on 16 cores and an H200, in seconds, and what it may take at most.
    takes: int
    limit: int
    what: str
    #: It has the suite's own arguments, and writes its result itself.
    ours: bool = field(init=False)

    def __post_init__(self) -> None:
        self.ours = "{seconds}" in self.lines[0]


def ours(program: str, *arguments: str) -> list[list[str]]:
    """A part that uses support.py."""
    return [[program, *arguments, "--data", "{data}", "--out", "{out}", "--seconds", "{seconds}"]]


CASES = [["kernel-cases.mjs", "{data}/kernels"], ["check_kernels.py", "{data}/kernels", "--out", "{json}"]]
NODE = [["check-node.mjs", "{data}/small/*.tar", "--seconds", "3", "--json"]]
STAGE = [["check_stage.py", "{data}/jpegs.npz", "--batches", "500", "--out", "{json}"]]
NVML = [["check-nvml.mjs", "--dist", "{dist}", "--json", "{json}"]]


PARTS = [
    Part("data", [["data.py", "--data", "{data}"]], 20, 90, "makes the pictures, unless they are there"),
    Part("kernels", CASES, 25, 90, "CUDA kernels against the CPU's bytes, and how long they take"),
    Part("stage", STAGE, 50, 120, "the device stage in Python, by itself"),
    Part("check", ours("check_feeds.py"), 50, 150, "feeds: the same by CPU and by GPU"),
    Part("node", NODE, 40, 90, "the device stage in Node: the same, and its rates"),
    Part("nvml", NVML, 15, 60, "NVML and GPM, at rest and under load"),
    Part("nvcomp", ours("check_nvcomp.py"), 60, 150, "compressed arrays by nvCOMP and by the CPU"),
    Part("beside", ours("beside.py"), 40, 90, "nvJPEG beside a trainer: what a call takes, and costs"),
    Part("cpu", ours("rates.py", "cpu"), 60, 110, "bar 1: the CPU decodes, nobody trains"),
    Part("gpu", ours("rates.py", "gpu"), 65, 120, "bar 2: the GPU decodes, nobody trains; nvJPEG by itself"),
    Part("train", ours("train.py", "train"), 190, 300, "bar 3: ResNets, every mode, DataLoader"),
    Part("cores", ours("train.py", "cores"), 120, 200, "bar 3: with 4 and 8 threads for the engine"),
    Part("tune", ours("tune.py"), 260, 400, "ResNet-18 whose feed begins badly and tunes itself"),
    Part("photos", ours("train.py", "photos"), 250, 360, "bar 4: ResNets on photographs"),
    Part("mixed", ours("mixed.py"), 190, 300, "photographs of mixed kinds: progressive, grey, CMYK, 4:4:4"),
    Part("generate", ours("generate.py"), 75, 130, "bar 5: generated images"),
    Part("llm", ours("llm.py"), 150, 280, "a GPT of 124 M parameters: cached, fed, DataLoader"),
    Part("jax", ours("jax_feed.py"), 40, 100, "bar 6: a jitted step"),
    Part("deaths", ours("deaths.py"), 45, 120, "bar 7: kill -9 of engine and trainer"),
    Part("flat", ours("flat.py"), 45, 120, "bar 7: 2,000 steps with flat memory"),
]


class Suite:
    """One run of the chosen parts."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.until = time.monotonic() + args.seconds
        self.told: dict[str, str] = {}

    def run(self, part: Part) -> None:
        """One part, whatever becomes of it."""
        begun = time.monotonic()
        left = self.until - begun
        missing = [line[0] for line in part.lines if not (HERE / line[0]).exists()]
        if missing:
            how, code = f"{missing[0]} is not there", None
        elif left < part.takes * 0.6:
            how, code = f"left out: {left:.0f} s are left, and it takes {part.takes}", None
        else:
            how, code = self._start(part, min(part.limit, left - 2))
        seconds = time.monotonic() - begun
        self.told[part.name] = f"{how}, {seconds:.0f} s" if code is not None else how
        print(f"=== {part.name}: {self.told[part.name]}", flush=True)
        if part.name != "data":
            self._keep(part, how, code, seconds)
        self.pack()

    def _start(self, part: Part, limit: float) -> tuple[str, int]:
        """Its programs, one after the other, as long as they end well."""
        print(f"=== {part.name}: {part.what} (about {part.takes} s, at most {limit:.0f})", flush=True)
        (self.args.out / f"gpu-{part.name}.json").unlink(missing_ok=True)
        until = time.monotonic() + limit
        code = 0
        with self._log(part).open("w") as log:
            for line in self._lines(part, limit):
                options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
                process = subprocess.Popen(line, start_new_session=True, **options)
                reader = Thread(target=self._relay, args=(process, part.name, log))
                reader.start()
                try:
                    code = process.wait(max(1.0, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    self._where(part, process, log)
                    return f"STOPPED after {limit:.0f} s", end(process)
                finally:
                    reader.join(5)
                if code != 0:
                    return f"FAILED with {code}", code
        return "ok", code

    def _where(self, part: Part, process: "subprocess.Popen[bytes]", log: Any) -> None:
        """Where a part stands that has to be stopped: what its threads do in Python, and in the system."""
        if part.ours:
            process.send_signal(signal.SIGUSR1)
            time.sleep(1)
        for pid in (process.pid, *children(process.pid)):
            before = threads(pid)
            time.sleep(0.5)
            for task, (name, ran, waits) in threads(pid).items():
                share = (ran - before.get(task, ("", ran, ""))[1]) / 0.5e9
                print(f"{pid}/{task} {name}: {share:.0%} of a core, {waits}", file=log, flush=True)

    def _lines(self, part: Part, limit: float) -> list[list[str]]:
        """What is typed."""
        places = {
            "data": self.args.data,
            "out": self.args.out,
            "json": self.args.out / f"gpu-{part.name}.json",
            "seconds": f"{max(5.0, limit - 15):.0f}",
            "dist": DIST,
        }
        lines = []
        for program, *words in part.lines:
            node = program.endswith(".mjs")
            interpreter = os.environ.get("MILLRACE_NODE", "node") if node else sys.executable
            lines.append([interpreter, str(HERE / program), *(word.format(**places) for word in words)])
        if self.args.dry and (part.ours or part.name == "data"):
            lines[-1].append("--dry")
        if part.ours:
            lines[-1] += self.args.more
        return lines

    def _relay(self, process: "subprocess.Popen[bytes]", name: str, log: Any) -> None:
        """What a part says goes to its log, and here."""
        assert process.stdout is not None
        for raw in process.stdout:
            text = raw.decode("utf8", "replace")
            try:
                log.write(text)
                log.flush()
            except ValueError:
                return  # it was stopped, and the log is closed
            print(f"[{name}] {text[:300].rstrip()}", flush=True)

    def _log(self, part: Part) -> Path:
        return self.args.out / f"log-{part.name}.txt"

    def _keep(self, part: Part, how: str, code: Optional[int], seconds: float) -> None:
        """How it ended, beside what it found; for other people's programs what they said."""
        path = self.args.out / f"gpu-{part.name}.json"
        if code is None and path.exists():
            return  # of an earlier run, which had it
        said = self._log(part).read_text().splitlines() if code is not None else []
        found = json.loads(path.read_text()) if path.exists() else printed(said)
        if not found.get("date"):
            about = {"name": f"gpu-{part.name}", "what": part.what, **stamp(self.args)}
            found = {**about, "complete": code == 0, "found": found}
        found["ended"] = {"how": how, "code": code, "seconds": round(seconds, 1)}
        if said and (code != 0 or not part.ours):
            found["said"] = said[-60:]
        path.write_text(json.dumps(found, indent=2) + "\n")

    def pack(self) -> None:
        """Everything so far in one file, and the table."""
        try:
            from table import table

            (self.args.out / "table.md").write_text(table(self.args.out))
        except Exception as error:  # noqa: BLE001  figures are kept even if they can't be shown
            print(f"no table: {type(error).__name__}: {error}", flush=True)
        if self.args.tar is not None:
            draft = self.args.tar.with_suffix(".new")
            with tarfile.open(draft, "w:gz") as tar:
                for path in sorted(self.args.out.glob("*")):
                    if path.suffix in (".json", ".md", ".txt"):
                        tar.add(path, path.name)
            draft.replace(self.args.tar)


def children(pid: int) -> list[int]:
    """The processes that a process has started, its engine among them, and theirs."""
    found = [
        int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in read(task).split()
    ]
    return [one for child in found for one in (child, *children(child))]


def threads(pid: int) -> dict[str, tuple[str, int, str]]:
    """The threads of a process: name, nanoseconds on a core, and what the system has it wait for."""
    return {
        task.name: (
            read(task / "comm").strip(),
            int((read(task / "schedstat").split() or ["0"])[0]),
            f"{read(task / 'wchan')}, call {' '.join(read(task / 'syscall').split()[:2])}",
        )
        for task in sorted(Path(f"/proc/{pid}/task").glob("*"))
    }


def read(path: Path) -> str:
    """A file of the system; nothing where that is gone meanwhile, or secret."""
    try:
        return path.read_text()
    except OSError:
        return ""


def printed(lines: list[str]) -> dict[str, Any]:
    """The JSON object that a program has printed as its last line; an empty one if there is none."""
    try:
        return dict(json.loads(lines[-1]))
    except (IndexError, TypeError, ValueError):
        return {}


def end(process: "subprocess.Popen[bytes]") -> int:
    """Ends a process and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            return process.wait(5)
        except subprocess.TimeoutExpired:
            continue  # also after SIGKILL, where a driver hangs
        except ProcessLookupError:
            break
    return process.poll() or -signal.SIGKILL


def chosen(args: argparse.Namespace) -> list[Part]:
    """The parts that were asked for, in the suite's order; data are always needed."""
    names = [part.name for part in PARTS]
    only = args.only.split(",") if args.only else names
    skip = args.skip.split(",") if args.skip else []
    unknown = [name for name in (*only, *skip) if name not in names]
    if unknown:
        sys.exit(f"there is no part {unknown[0]!r}; there are {', '.join(names)}")
    # All others are about pictures; this one makes its own data.
    data = only != ["llm"]
    return [
        part
        for part in PARTS
        if (part.name in only or (data and part.name == "data")) and part.name not in skip
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for results")
    parser.add_argument("--data", type=Path, help="folder for pictures (in the temporary folder)")
    parser.add_argument("--only", help="names of parts, with commas")
    parser.add_argument("--skip", help="names of parts, with commas")
    parser.add_argument("--seconds", type=float, default=1e6, help="what does not fit into this is left out")
    parser.add_argument("--tar", type=Path, help="all results in one file, rewritten after every part")
    parser.add_argument("--rounds", type=int, help="of contenders that take turns (3)")
    parser.add_argument("--dry", action="store_true", help="without a GPU, small: only to try this out")
    parser.add_argument("--list", action="store_true", help="show the parts")
    args = parser.parse_args()
    if args.list:
        for part in PARTS:
            print(f"{part.name:9} {part.takes:4} s  {part.what}")
        return
    if args.out is None:
        parser.error("--out is needed")
    if args.data is None:
        args.data = Path(tempfile.gettempdir()) / ("millrace-gpu-dry" if args.dry else "millrace-gpu-data")
    args.more = [] if args.rounds is None else ["--rounds", str(args.rounds)]
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    args.data.mkdir(parents=True, exist_ok=True)
    suite = Suite(args)
    for part in chosen(args):
        suite.run(part)
    print((args.out / "table.md").read_text() if (args.out / "table.md").exists() else "", flush=True)
    for name, how in suite.told.items():
        print(f"{name:9} {how}", flush=True)
    fine = [how.startswith("ok") or how.endswith("not there") for how in suite.told.values()]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
