"""kill -9 of the engine: the trainer goes on with the same samples. kill -9 of the trainer: the engine ends,
and no memory of the GPU stays allocated. With the GPU and with the CPU decoding.

    python3 bench/gpu/deaths.py --data DIR --out DIR        about 45 s
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

from support import Result, arguments, definition, engines, gpu_memory_mib, marked, on_device

STEPS, KILLED_AT = 60, 20
#: How long an engine may outlive its trainer, and a trainer may take to start (seconds).
ENDED, STARTED = 4.0, 60.0
#: Memory of the GPU that may be in use afterwards beyond what was before, MiB.
MAY_STAY = 4
#: A trainer that was told of its engine's death ends with this.
TOLD = 7


# ------------------------------------------------------------ the trainer


def train(args: Any) -> None:
    """As a user would write it; a line of ids for every step."""
    from train import trainer

    import millrace

    step = trainer("tiny", "cpu" if args.dry else "cuda")
    options = {"workers": 4, "steps": args.steps, "epochs": None, "restart": args.restart}
    with (args.folder / "ids").open("a") as log, (
        millrace.Feed(definition(args.data / "small"), **options)
    ) as feed:
        try:
            for batch in on_device(args, feed, args.decode):
                log.write(json.dumps(batch.ids) + "\n")
                log.flush()
                step(batch["image"], batch["label"])
                time.sleep(0.02)
        except millrace.EngineDied as death:
            print(f"told: {death}", flush=True)
            sys.exit(TOLD)
        stats = feed.stats()
    found = {"restarts": stats["restarts"], "device": stats.get("device")}
    (args.folder / "stats.json").write_text(json.dumps(found))


# ------------------------------------------------------------ what happens to it


class Trainer:
    """A trainer in a process of its own, with all that it starts."""

    def __init__(self, args: Any, decode: str, steps: int, restart: bool) -> None:
        self.mark = f"MILLRACE_GPU_MARK={uuid.uuid4().hex}"
        name, value = self.mark.split("=")
        self.folder = args.out / f"deaths-{value}"
        self.folder.mkdir(mode=0o700)
        line = [sys.executable, __file__, "--data", args.data, "--out", args.out, "--folder", self.folder]
        line += ["--decode", decode, "--steps", steps, "--restart", int(restart)]
        line += ["--dry"] if args.dry else []
        # A place of its own for sockets, with a short path: whoever wants the same feed looks for one there.
        self.place = Path("/tmp") / f"mrg-{value[:12]}"
        self.place.mkdir(mode=0o700)
        env = {**os.environ, name: value, "XDG_RUNTIME_DIR": str(self.place)}
        with (self.folder / "words").open("wb") as words:
            self.process = subprocess.Popen(list(map(str, line)), env=env, stdout=words, stderr=words)

    def lines(self) -> list[list[str]]:
        """The ids of each step so far."""
        path = self.folder / "ids"
        whole = path.read_text().split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in whole]

    def reach(self, steps: int) -> None:
        """Waits until it has made so many steps."""
        if not until(lambda: len(self.lines()) >= steps or self.process.poll() is not None, STARTED):
            made = f"{len(self.lines())} steps in {STARTED:.0f} s"
            raise AssertionError(f"the trainer made {made}: {self.words()}")
        if self.process.poll() is not None:
            raise AssertionError(f"the trainer ended with {self.process.returncode}: {self.words()}")

    def kill_engine(self) -> None:
        """kill -9, in the middle."""
        found = engines(self.mark)
        if not found:
            raise AssertionError(f"no engine was found: {self.words()}")
        for pid in found:
            os.kill(pid, signal.SIGKILL)

    def words(self) -> str:
        """The end of what it said."""
        return (self.folder / "words").read_text()[-1500:]

    def clean(self) -> None:
        """Nothing stays, whatever happened."""
        for pid in marked(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(10)
        subprocess.run(["rm", "-rf", str(self.folder), str(self.place)], check=False)


def until(what: Callable[[], bool], seconds: float) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.02)
    return what()


def expected(args: Any) -> list[list[str]]:
    """The ids of each step, by the command line: no Python, no GPU."""
    from millrace._client.node import engine_command

    path = args.out / "deaths-ids.jsonl"
    feed = json.dumps(definition(args.data / "small"))
    line = [*engine_command(), "run", feed, "--steps", str(STEPS), "--epochs", "100"]
    line += ["--ids", str(path), "--json"]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = [json.loads(one)["ids"] for one in path.read_text().splitlines()]
    path.unlink()
    return found


def engine_dies(args: Any, decode: str, ids: list[list[str]]) -> dict[str, Any]:
    """The trainer goes on with another engine, with the same samples."""
    trainer = Trainer(args, decode, STEPS, restart=True)
    try:
        trainer.reach(KILLED_AT)
        trainer.kill_engine()
        hit = time.monotonic()
        code = trainer.process.wait(60)
        took = time.monotonic() - hit
        seen = trainer.lines()
        assert code == 0, f"the trainer ended with {code}: {trainer.words()}"
        assert seen == ids, f"{len(seen)} steps instead of {len(ids)}, or other samples"
        assert until(lambda: not marked(trainer.mark), ENDED), "processes are left"
        stats = json.loads((trainer.folder / "stats.json").read_text())
        assert stats["restarts"] >= 1, f"no engine was replaced: {stats}"
        return {"steps": len(seen), "secondsToTheEnd": round(took, 1), **stats}
    finally:
        trainer.clean()


def engine_dies_for_good(args: Any, decode: str) -> dict[str, Any]:
    """Without restarts the trainer is told, and ends."""
    trainer = Trainer(args, decode, 100_000, restart=False)
    try:
        trainer.reach(KILLED_AT)
        trainer.kill_engine()
        code = trainer.process.wait(15)
        assert code == TOLD, f"the trainer ended with {code}: {trainer.words()}"
        assert until(lambda: not marked(trainer.mark), ENDED), "processes are left"
        told = [line for line in trainer.words().splitlines() if line.startswith("told: ")]
        return {"told": told[-1][6:300]}
    finally:
        trainer.clean()


def trainers_die(args: Any) -> dict[str, Any]:
    """Two trainers, one for each decoder: engines end, and the GPU's memory is as it was."""
    before = gpu_memory_mib()
    trainers = {decode: Trainer(args, decode, 100_000, restart=True) for decode in ("gpu", "cpu")}
    try:
        for trainer in trainers.values():
            trainer.reach(KILLED_AT)
        during = gpu_memory_mib()
        ended = {}
        for decode, trainer in trainers.items():
            trainer.process.kill()
            trainer.process.wait(5)
            hit = time.monotonic()
            over = until(lambda mark=trainer.mark: not marked(mark), ENDED)
            assert over, f"decode={decode}: the engine outlived its trainer by more than {ENDED:.0f} s"
            ended[decode] = round(time.monotonic() - hit, 2)
        if before is not None:
            assert until(lambda: (gpu_memory_mib() or 0) <= before + MAY_STAY, 10), (
                f"{gpu_memory_mib()} MiB of the GPU are in use, {before} were before"
            )
        after = gpu_memory_mib()
        return {"gpuMiB": {"before": before, "during": during, "after": after}, "engineEndedAfter": ended}
    finally:
        for trainer in trainers.values():
            trainer.clean()


def main(args: Any) -> None:
    result = Result(args, "deaths", "kill -9 of engine and trainer, with the GPU and with the CPU decoding")
    ids = expected(args)
    jobs: dict[str, Callable[[], dict[str, Any]]] = {}
    for decode in ("gpu", "cpu"):
        jobs[f"engine, decode={decode}"] = lambda d=decode: engine_dies(args, d, ids)
        jobs[f"engine, no restart, decode={decode}"] = lambda d=decode: engine_dies_for_good(args, d)
    found: dict[str, Any] = {}

    def look(name: str, job: Callable[[], dict[str, Any]]) -> None:
        try:
            found[name] = {"ok": True, **job()}
        except Exception as error:  # noqa: BLE001  the other deaths are looked at, too
            found[name] = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
        print(f"{name}: {found[name]}", flush=True)
        result.put("cases", dict(found))

    with ThreadPoolExecutor(1 if args.dry else len(jobs)) as pool:
        list(pool.map(look, jobs, jobs.values()))
    look("trainers", lambda: trainers_die(args))  # alone, since memory is counted
    result.done()
    sys.exit(0 if all(one["ok"] for one in found.values()) else 1)


def more(parser: Any) -> None:
    """How this program is started as a trainer."""
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--decode")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--restart", type=int)


if __name__ == "__main__":
    given = arguments(__doc__, more)
    (main if given.folder is None else train)(given)
