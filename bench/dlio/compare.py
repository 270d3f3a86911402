"""The DLIO-style workloads, fed by Millrace and by PyTorch's DataLoader in turns.

    npm run build
    python3 bench/dlio/compare.py --python VENV/bin/python --data DIR [--quick] [--save]

Every run is a fresh process, and its data are read just before. First the DataLoader's workers are chosen
(0, 1, 2, 4); then both run in rounds, in random order; then it is searched how many accelerators Millrace
sustains. A run during which others used the machine is repeated. These are DLIO-style workloads, not MLPerf
results. Needs the standard library only; PyTorch, NumPy and Pillow in the environment of --python.
"""

import argparse
import datetime
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import meter  # noqa: E402

WHAT = "DLIO-style workloads, not MLPerf results"
# Workload, accelerator, and the utilisation to reach; none: its fraction of the demand is what counts.
CASES = [
    ("cosmoflow", "h100", 0.95),
    ("unet3d", "a100", 0.95),
    ("unet3d", "h100", 0.90),
    ("resnet50", "a100", 0.99),
    ("resnet50", "h100", 0.99),
    ("retinanet", "b200", None),
]
SIZES = {"cosmoflow": 3e9, "unet3d": 3e9, "resnet50": 2.3e9, "retinanet": 1e9}
WORKERS = (0, 1, 2, 4)
ATTEMPTS = 3
SIDES = ("millrace", "torch")


class Failed(Exception):
    pass


def main(argv=None):
    options = parse(argv)
    meter.adopt_orphans()
    cases = [case for case in CASES if not options.only or case[0] in options.only]
    data = {name: prepare(name, options) for name in dict.fromkeys(case[0] for case in cases)}
    chance = random.Random(options.seed)
    workers = {name: sweep(name, about, options) for name, about in data.items()}
    results = {case: {"millrace": [], "torch": [], "disturbed": []} for case in cases}
    for turn in range(options.rounds):
        say(f"round {turn + 1} of {options.rounds}")
        for (name, accelerator, bar), side in shuffled(chance, [(c, s) for c in cases for s in SIDES]):
            case, about = (name, accelerator, bar), data[name]

            def run(name=name, accelerator=accelerator, side=side, about=about):
                warm(about)
                if side == "millrace":
                    return millrace(name, accelerator, about, options)
                return torch(name, accelerator, about, workers[name], options)

            measured = undisturbed(run, options, results[case]["disturbed"])
            results[case][side].append(measured)
            say(f"  {name} {accelerator} {side}: AU {measured['au']['dlio']:.3f}")
    most = {} if options.quick and not options.most else sustained(cases, data, options)
    result = {
        **stamp(options),
        "what": WHAT,
        "command": "python3 bench/dlio/compare.py " + " ".join(argv if argv is not None else sys.argv[1:]),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "othersAtMost": options.others,
        "data": {
            name: {key: about["data"][key] for key in ("files", "records", "bytes", "fullBytes", "seed")}
            for name, about in data.items()
        },
        "cases": [
            report(case, runs, workers[case[0]], data[case[0]], most.get(case))
            for case, runs in results.items()
        ],
    }
    text = table(result)
    print(text)
    if options.save:
        folder = Path(options.out)
        (folder / "dlio.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
        (folder / "dlio.md").write_text(text)
    return result


# ---------------------------------------------------------------- runs


def prepare(name, options):
    """Writes the data, reads them once, and tells what the workload is."""
    say(f"data of {name}")
    size = SIZES[name] / (10 if options.quick else 1)
    told = node({"workload": name, "data": options.data, "size": size, "steps": 2, "warm": True})
    return {**told, "size": size}


def millrace(name, accelerator, about, options, accelerators="1"):
    given = {"workload": name, "accelerator": accelerator, "data": options.data, "size": about["size"]}
    return node(
        {**given, "epochs": 1000, "steps": steps(name, accelerator, options), "accelerators": accelerators}
    )


def torch(name, accelerator, about, workers, options):
    given = {
        **{"workload": name, "folder": about["data"]["folder"], "files": about["data"]["files"]},
        "recordsPerFile": about["data"]["records"] // about["data"]["files"],
        "recordBytes": about["data"]["bytes"] / about["data"]["records"],
        **{"batch": about["batch"], "scale": about["scale"], "workers": workers},
        "computeMs": compute_ms(name, accelerator) * about["scale"],
        "steps": steps(name, accelerator, options),
    }
    return program([options.python, HERE / "torch_loader.py", json.dumps(given)])


# ms of a step at full size, as in bench/dlio/workloads/table.mjs: Millrace's answers are compared.
COMPUTE = {
    "cosmoflow": {"h100": 3.5},
    "unet3d": {"a100": 636, "h100": 323},
    "resnet50": {"a100": 435, "h100": 224},
    "retinanet": {"b200": 47.55},
}
SCALE = {"unet3d": 1 / 8}
# How much longer than its compute a step is on a few cores: runs are to be of about one length.
LONGER = {"retinanet": 5}


def compute_ms(name, accelerator):
    return COMPUTE[name][accelerator]


def steps(name, accelerator, options):
    ms = compute_ms(name, accelerator) * SCALE.get(name, 1) * LONGER.get(name, 1)
    return max(8, round(1000 * options.seconds / ms))


def node(given):
    found = program(["node", HERE / "workload.mjs", json.dumps(given)])
    expected = COMPUTE[given["workload"]].get(found["accelerator"])
    if expected is not None and abs(found["computeMs"] - expected * found["scale"]) > 1e-6:
        raise Failed(
            f"{given['workload']}: Millrace computes {found['computeMs']} ms a step, this program {expected}"
        )
    return found


def program(command):
    """One run in a process of its own, with the cores that others used meanwhile."""
    ours, all_of, begun = own_cpu(), meter.machine_cpu_seconds(), time.monotonic()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise Failed((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
    seconds = time.monotonic() - begun
    reap()
    others = (meter.machine_cpu_seconds() - all_of - (own_cpu() - ours)) / seconds
    return {**json.loads(done.stdout.splitlines()[-1]), "coresUsedByOthers": max(0, round(others, 3))}


def reap():
    """Waits for what a run left to end: the CPU time of a child counts as ours when it was waited for."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def own_cpu():
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def undisturbed(run, options, disturbed):
    """A run; again where others used the machine. The last counts in any case, and says so itself."""
    for attempt in range(ATTEMPTS):
        meter.wait_for_quiet(options.others, options.patience)
        measured = run()
        if measured["coresUsedByOthers"] <= options.others or attempt == ATTEMPTS - 1 or options.quick:
            return measured
        say(f"    again: others used {measured['coresUsedByOthers']:.2f} cores")
        disturbed.append({"au": measured["au"], "coresUsedByOthers": measured["coresUsedByOthers"]})


def warm(about):
    """Reads all of a workload's data: a system may have put what was not used for minutes out of the page cache."""
    for path in sorted(Path(about["data"]["folder"]).rglob("*")):
        if path.is_file():
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 22):
                    pass


def sweep(name, about, options):
    """The workers with which the DataLoader is fastest, on the accelerator that asks for most."""
    accelerator = list(COMPUTE[name])[-1]
    found = {}
    for workers in WORKERS:
        warm(about)
        meter.wait_for_quiet(options.others, options.patience)
        found[workers] = torch(name, accelerator, about, workers, options)["au"]["dlio"]
        say(f"  DataLoader with {workers} workers, {name} {accelerator}: AU {found[workers]:.3f}")
    return max(found, key=found.get)


def sustained(cases, data, options):
    most = {}
    for case in cases:
        name, accelerator, _ = case
        warm(data[name])
        meter.wait_for_quiet(options.others, options.patience)
        say(f"how many {accelerator} of {name} are sustained?")
        found = millrace(name, accelerator, data[name], options, "max")["most"]
        most[case] = {
            "accelerators": found["accelerators"],
            "stopped": found.get("stopped"),
            "tried": [{"accelerators": m["accelerators"], "au": m["au"]} for m in found["tried"]],
        }
    return most


# ---------------------------------------------------------------- report


def report(case, runs, workers, about, most):
    name, accelerator, bar = case
    return {
        **{
            "workload": name,
            "accelerator": accelerator,
            "scale": about["scale"],
            "leastAu": about["leastAu"],
        },
        "bar": bar,
        "millrace": side(runs["millrace"]),
        "torch": {**side(runs["torch"]), "workers": workers},
        "disturbed": runs["disturbed"],
        "most": most,
    }


def side(runs):
    kept = ("au", "samplesPerSecond", "bytesPerSecond", "firstBatchMs", "cpuSeconds", "coresUsedByOthers")
    more = ("workers", "depth", "cached", "fraction", "why", "versions")
    return {
        "au": spread([run["au"]["dlio"] for run in runs]),
        "auNominal": spread([run["au"]["nominal"] for run in runs]),
        "samplesPerSecond": spread([run["samplesPerSecond"] for run in runs]),
        "runs": [{key: run[key] for key in kept + more if key in run} for run in runs],
    }


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def table(result):
    most_others = max(
        run["coresUsedByOthers"]
        for case in result["cases"]
        for s in ("millrace", "torch")
        for run in case[s]["runs"]
    )
    lines = [
        f"{WHAT}: NPZ, TFRecord and JPEG with the record sizes, batches and compute times of DLIO's "
        "configurations, on fewer files.",
        "",
        f"{result['date'][:10]}, {result['machine']}; Millrace {result['commit']}, Node {result['node']}, "
        f"PyTorch {result['torch']}. Page cache warm, read before each run ({cached(result)}). "
        f"Median (least–greatest) of {result['rounds']} rounds of {result['seconds']:g} s of compute "
        "in random order, each run a fresh process; others used "
        f"{most_others:.2f} cores at most ({result['othersAtMost']:g} allowed, repeated otherwise). "
        "Millrace with a worker for each core and nothing tuned, the DataLoader with its best number of workers. "
        "AU as DLIO's code counts it.",
        "",
        "| workload | accelerator | wanted | Millrace AU | DataLoader AU (workers) | Millrace samples/s "
        "| DataLoader samples/s | sustained by Millrace |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for case in result["cases"]:
        ours, theirs = case["millrace"], case["torch"]
        size = "" if case["scale"] == 1 else f" 1/{round(1 / case['scale'])}"
        most = case["most"]
        fraction = ours["runs"][0].get("fraction", 0)
        wanted = f"≥ {case['bar']}" if case["bar"] else f"its fraction: {100 * fraction:.0f} %"
        count = "–" if most is None else f"{most['accelerators']} at AU ≥ {case['leastAu']}"
        if most and most["stopped"]:
            count = f"at least {count}"
        lines.append(
            f"| {case['workload']}{size} | {case['accelerator'].upper()} | {wanted} "
            f"| {cell(ours['au'], '.3f')} "
            f"| {cell(theirs['au'], '.3f')} ({theirs['workers']}) | {cell(ours['samplesPerSecond'], '.0f')} "
            f"| {cell(theirs['samplesPerSecond'], '.0f')} | {count} |"
        )
    lines += [
        "",
        "Millrace delivers what it read, the DataLoader an array made beforehand, as DLIO's reader does; "
        "np.load compares checksums of zip, Millrace those of TFRecord. "
        "AU leaves out the first step of each epoch, samples/s does not. "
        "retinanet is decoded and resized on both sides.",
        "",
        f"`{result['command']}`",
    ]
    return "\n".join(lines) + "\n"


def cached(result):
    shares = [
        run["cached"]["before"]
        for case in result["cases"]
        for run in case["millrace"]["runs"]
        if run["cached"]["before"] is not None
    ]
    return f"{100 * min(shares):.0f} % of the data or more" if shares else "not measured"


def cell(figure, form):
    return f"{figure['median']:{form}} ({figure['min']:{form}}–{figure['max']:{form}})"


def stamp(options):
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": f"{len(os.sched_getaffinity(0))} × {model}, {memory:.0f} GiB, Linux {platform.release()}",
        "commit": said("git", "-C", str(HERE), "rev-parse", "--short", "HEAD"),
        "node": said("node", "--version"),
        "torch": said(options.python, "-c", "import torch; print(torch.__version__)"),
    }


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def shuffled(chance, items):
    return chance.sample(items, len(items))


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="a Python with torch, numpy and Pillow")
    parser.add_argument("--data", required=True, help="folder for the data (9.3 GB; quick: 1 GB)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8, help="compute of a run, first batch apart")
    parser.add_argument(
        "--others", type=float, default=0.1, help="cores that others may use before a run is repeated"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order within the rounds")
    parser.add_argument("--only", nargs="*", choices=list(SIZES), help="these workloads")
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument(
        "--most", action="store_true", help="with --quick, also how many accelerators are sustained"
    )
    parser.add_argument("--save", action="store_true", help="write dlio.json and dlio.md")
    parser.add_argument("--out", default=HERE.parent / "results", help="where to (bench/results)")
    options = parser.parse_args(argv)
    options.patience = 45  # seconds to wait for quiet before a run
    if options.quick:
        options.rounds, options.seconds, options.patience = 1, 1.5, 2
    return options


if __name__ == "__main__":
    main()
