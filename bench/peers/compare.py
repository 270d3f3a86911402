"""Millrace side by side with its peers: the same pictures, the same output, on the same cores.

    python3 bench/peers/compare.py --venvs DIR --data DIR [--save]

Every run is a fresh process. First each setting of each contender runs twice (the sweep) and the fastest
goes on; then the contenders run in rounds, each round in another random order. Needs the standard library
only: the contenders' packages live in the environments that install.py makes.
"""

import argparse
import datetime
import json
import os
import platform
import random
import statistics
import subprocess
import sys
from pathlib import Path

import data
import launch
import meter
import report

HERE = Path(__file__).resolve().parent
WHAT = "224² JPEG → randomResizedCrop(224) + flip + normalise → f32 chw, batches of 256 in host memory"
FIGURES = ("imagesPerSecond", "firstBatchSeconds", "cpuSecondsPer1000", "peakPssBytes", "coresUsedByOthers")


def main(argv=None):
    options = parse(argv)
    meter.adopt_orphans()
    pictures = data.make(options.data, options.pictures)
    contenders = [Contender(path, options.venvs) for path in options.contenders]
    for contender in contenders:
        contender.get_ready(pictures)
    size = pictures.warm()
    chance = random.Random(options.seed)
    taking_part = [contender for contender in contenders if contender.skipped is None]

    say(f"sweep: {sum(len(c.variants) for c in taking_part)} settings, {options.sweep} × {options.seconds} s")
    for _ in range(options.sweep):
        for contender, variant in shuffled(chance, [(c, v) for c in taking_part for v in c.variants]):
            contender.measure(pictures, variant, options, contender.sweep)
    for contender in taking_part:
        contender.choose()
    taking_part = [contender for contender in contenders if contender.skipped is None]
    for turn in range(options.rounds):
        say(f"round {turn + 1} of {options.rounds}")
        for contender in shuffled(chance, taking_part):
            contender.measure(pictures, contender.best, options, contender.rounds)

    result = {
        **stamp(),
        "command": "python3 bench/peers/compare.py " + " ".join(argv if argv is not None else sys.argv[1:]),
        "what": WHAT,
        "cache": f"Page cache warm ({size / 1e6:.0f} MB in all formats together)",
        "pictures": options.pictures,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "contenders": [contender.result() for contender in contenders],
    }
    print(report.table(result))
    if options.save:
        report.save(result, Path(options.out))
    return result


class Contender:
    """One file of contenders/: what it can do here, and what was measured."""

    def __init__(self, path, venvs):
        self.path = Path(path)
        self.name = self.path.stem
        self.title = self.name
        self.python = interpreter(self.path, venvs)
        self.skipped = None
        self.variants, self.versions, self.best = [], {}, None
        self.sweep, self.rounds, self.disturbed = [], [], []

    def get_ready(self, pictures):
        """Asks what it is and has it write its format, once; what fails is the reason for skipping it."""
        try:
            about = launch.run(self.python, self.path, "describe")
            self.title, self.variants, self.versions = about["title"], about["variants"], about["versions"]
            mark = pictures.folder / f"{self.name}.prepared"
            if not mark.exists():
                say(f"preparing the data of {self.title}")
                launch.run(self.python, self.path, "prepare", pictures.folder)
                mark.touch()
        except (launch.Failed, OSError) as reason:
            self.skip(reason)

    def measure(self, pictures, variant, options, into):
        """A run; again where others used the machine, whatever it gave. The third counts in any case."""
        for attempt in range(3):
            meter.wait_for_quiet(options.others)
            run = self.run(pictures, variant, options.seconds)
            if "failed" in run or run["coresUsedByOthers"] <= options.others or attempt == 2:
                break
            say(f"    again: others used {run['coresUsedByOthers']:.2f} cores")
            self.disturbed.append(run)
        into.append(run)

    def run(self, pictures, variant, seconds):
        run = {"variant": variant, "load": round(os.getloadavg()[0], 2)}
        try:
            text = json.dumps(variant)
            run |= launch.run(
                self.python, self.path, "measure", pictures.folder, seconds, text, seconds=seconds
            )
            say(f"  {self.title} {words(variant)}: {run['imagesPerSecond']:.0f} img/s")
        except launch.Failed as reason:
            run["failed"] = str(reason)
            say(f"  {self.title} {words(variant)}: failed: {reason}")
        return run

    def choose(self):
        """The setting of the sweep's fastest run: what disturbs a run only ever slows it."""
        best = max(self.sweep, key=lambda run: run.get("imagesPerSecond", 0))
        if "failed" in best:
            self.skip(best["failed"])
        self.best = best["variant"]

    def skip(self, reason):
        self.skipped = str(reason)
        say(f"skipping {self.title}: {reason}")

    def result(self):
        good = [run for run in self.rounds if "failed" not in run]
        figures = {name: spread([run[name] for run in good]) for name in FIGURES} if good else None
        return {
            "name": self.name,
            "title": self.title,
            "versions": self.versions,
            "skipped": self.skipped,
            "setting": self.best,
            "failures": len(self.rounds) - len(good),
            "figures": figures,
            "sweep": self.sweep,
            "rounds": self.rounds,
            "disturbed": self.disturbed,
        }


def interpreter(path, venvs):
    """The Python of the environment that a contender names; this one where there are no environments."""
    if venvs is None:
        return sys.executable
    named = [line for line in path.read_text().splitlines() if line.startswith("ENVIRONMENT = ")]
    return str(Path(venvs) / (named[0].split('"')[1] if named else "main") / "bin/python")


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def shuffled(chance, items):
    return chance.sample(items, len(items))


def words(variant):
    return " ".join(f"{name}={value}" for name, value in variant.items())


def stamp():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": f"{len(os.sched_getaffinity(0))} × {model}, {memory:.0f} GiB, Linux {platform.release()}",
        "commit": said("git", "-C", str(HERE), "rev-parse", "--short", "HEAD"),
        "node": said("node", "--version"),
        "python": platform.python_version(),
    }


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venvs", help="folder of environments made by install.py (otherwise: this Python)")
    parser.add_argument(
        "--data", required=True, help="folder for the pictures, in all formats (1 GB per 4,000)"
    )
    parser.add_argument("--pictures", type=int, default=16384)
    parser.add_argument("--seconds", type=float, default=15, help="length of a run, from its first batch on")
    parser.add_argument("--sweep", type=int, default=2, help="runs of each setting before the best is taken")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--others",
        type=float,
        default=0.15,
        help="cores that other programs may use before a run is repeated",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order within the rounds")
    parser.add_argument("--save", action="store_true", help="write peers.json, peers.md and peers.svg")
    parser.add_argument("--out", default=HERE.parent / "results", help="where to (bench/results)")
    parser.add_argument("contenders", nargs="*", help="names or files; all of contenders/ by default")
    options = parser.parse_args(argv)
    paths = [
        HERE / "contenders" / f"{name}.py" if "/" not in name else Path(name) for name in options.contenders
    ]
    options.contenders = paths or sorted((HERE / "contenders").glob("*.py"))
    for path in options.contenders:
        if not path.exists():
            parser.error(f"there is no contender {path.stem}")
    return options


if __name__ == "__main__":
    main()
