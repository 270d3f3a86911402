"""Transport alone: arrays from a producer process to a Python consumer, in GB/s and CPU seconds per GB.

    python3 bench/peers/transport.py --venvs DIR [--save]

The producer copies a stretch of memory into what the consumer sees, and does nothing else. The consumer
touches nothing, or reads every byte. Runs are fresh processes, in rounds of random order.
"""

import argparse
import json
import random
import statistics
from pathlib import Path

import launch
import meter
from compare import interpreter, say, shuffled, spread, stamp

HERE = Path(__file__).resolve().parent
SIZES = (2, 8, 32)
CONSUMER = {False: "touches nothing", True: "reads every byte"}


def main(argv=None):
    options = parse(argv)
    meter.adopt_orphans()
    chance = random.Random(options.seed)
    carriers, skipped = {}, {}
    for path in sorted((HERE / "carriers").glob("*.py")):
        python = interpreter(path, options.venvs)
        try:
            carriers[path] = {**launch.run(python, path, "describe"), "python": python}
        except (launch.Failed, OSError) as reason:
            skipped[path.stem] = str(reason)
            say(f"skipping {path.stem}: {reason}")
    runs = {}
    for turn in range(options.rounds):
        say(f"round {turn + 1} of {options.rounds}")
        for path, size, touch in shuffled(
            chance, [(p, s, t) for p in carriers for s in SIZES for t in CONSUMER]
        ):
            title, python = carriers[path]["title"], carriers[path]["python"]
            what = f"{title}, {size} MiB, {CONSUMER[touch]}"
            args = (size << 20, json.dumps(touch), options.seconds)
            meter.wait_for_quiet(options.others)
            try:
                run = launch.run(python, path, "carry", *args, seconds=options.seconds)
                say(f"  {what}: {run['gigabytesPerSecond']:.2f} GB/s")
            except launch.Failed as reason:
                run = {"failed": str(reason)}
                say(f"  {what}: failed: {reason}")
            runs.setdefault((title, size, touch), []).append(run)
    result = {
        **stamp(),
        "what": "A producer process copies arrays from its memory to a Python consumer",
        "versions": {name: v for about in carriers.values() for name, v in about["versions"].items()},
        "rounds": options.rounds,
        "seconds": options.seconds,
        "skipped": skipped,
        "results": [summary(*key, found) for key, found in sorted(runs.items())],
    }
    print(table(result))
    if options.save:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "transport.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
        (options.out / "transport.md").write_text(table(result))
    return result


def summary(title, size, touch, runs):
    good = [run for run in runs if "failed" not in run]
    names = ("gigabytesPerSecond", "cpuSecondsPerGigabyte", "coresUsedByOthers")
    late = [run["latency"] for run in good if run.get("latency")]
    return {
        "title": title,
        "mebibytes": size,
        "touched": touch,
        "failures": [run["failed"] for run in runs if "failed" in run],
        **({name: spread([run[name] for run in good]) for name in names} if good else {}),
        "latencyMicroseconds": late
        and {at: statistics.median(found[at] for found in late) for at in ("p50", "p99")},
    }


def table(result):
    lines = [
        f"{result['what']}. {result['date'][:10]}, {result['machine']}; Millrace {result['commit']}. "
        f"Median (least–greatest) of {result['rounds']} rounds of {result['seconds']:g} s; "
        "CPU of both processes.",
        "",
        "| carrier | array, MiB | consumer | GB/s | CPU s / GB | complete → held, µs (p50 / p99) |",
        "|---|--:|---|--:|--:|--:|",
    ]
    for row in result["results"]:
        start = f"| {row['title']} | {row['mebibytes']} | {CONSUMER[row['touched']]} |"
        if "gigabytesPerSecond" not in row:
            lines.append(f"{start} failed: {row['failures'][0]} | | |")
            continue
        rate, cpu, late = row["gigabytesPerSecond"], row["cpuSecondsPerGigabyte"], row["latencyMicroseconds"]
        way = f"{late['p50']:.0f} / {late['p99']:.0f}" if late else ""
        speed = f"{rate['median']:.2f} ({rate['min']:.2f}–{rate['max']:.2f})"
        lines.append(f"{start} {speed} | {cpu['median']:.2f} | {way} |")
    lines += [f"\n{name} was skipped: {reason}" for name, reason in result["skipped"].items()]
    return "\n".join(lines) + "\n"


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venvs", help="folder of environments made by install.py (otherwise: this Python)")
    parser.add_argument("--seconds", type=float, default=3, help="length of a run, from its first array on")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--others", type=float, default=0.15, help="cores that other programs may use")
    parser.add_argument("--seed", type=int, default=1, help="of the order within the rounds")
    parser.add_argument("--save", action="store_true", help="write transport.json and transport.md")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results", help="where to (bench/results)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
