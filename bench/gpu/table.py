"""From gpu-*.json to a table in Markdown: what was asked for, what was reached, and whether that is enough.

    python3 bench/gpu/table.py bench/results
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

MODELS = {"resnet50": "ResNet-50", "resnet18": "ResNet-18"}
#: Parts that only check, in the order of the suite.
CHECKS = {
    "check": "feeds, CPU against GPU",
    "kernels": "CUDA kernels against the CPU",
    "stage": "the stage in Python",
    "node": "the stage in Node",
    "nvcomp": "nvCOMP",
    "nvml": "NVML",
}


class Row(NamedTuple):
    """One line: ``good`` None where nothing was asked for."""

    bar: str
    what: str
    needed: str
    reached: str
    good: Optional[bool]


class Found:
    """What the parts have found."""

    def __init__(self, folder: Path) -> None:
        self.parts = {
            path.stem[4:]: json.loads(path.read_text()) for path in sorted(folder.glob("gpu-*.json"))
        }

    def get(self, part: str) -> dict[str, Any]:
        """A part's file, or nothing."""
        return self.parts.get(part, {})

    def entry(self, part: str, contender: str) -> dict[str, Any]:
        """A contender's figures, or nothing."""
        return self.get(part).get("results", {}).get(contender, {})

    def rate(self, part: str, contender: str) -> Optional[float]:
        """A contender's median."""
        return self.entry(part, contender).get("median")

    def best(self, part: str, prefix: str) -> tuple[str, Optional[float]]:
        """The fastest of the contenders whose names begin like this."""
        found = [(one["median"], name) for name, one in self.get(part).get("results", {}).items()]
        found = [pair for pair in found if pair[1].startswith(prefix)]
        return (max(found)[1], max(found)[0]) if found else ("", None)


# ------------------------------------------------------------ words


def number(value: Optional[float]) -> str:
    """13,036"""
    return "–" if value is None else f"{value:,.0f}"


def share(value: Optional[float]) -> str:
    """98.3 %"""
    return "–" if value is None else f"{value * 100:.1f} %"


def ratio(one: Optional[float], other: Optional[float]) -> Optional[float]:
    """Where both are known."""
    return None if one is None or not other else one / other


def at_least(value: Optional[float], least: float) -> Optional[bool]:
    """Nothing where nothing was measured."""
    return None if value is None else value >= least


def middle(values: Any) -> Optional[float]:
    """The median of those that are numbers."""
    known = sorted(value for value in values or [] if isinstance(value, float))
    return known[len(known) // 2] if known else None


# ------------------------------------------------------------ rows


def checks(found: Found) -> Iterator[Row]:
    """Whether it is right at all."""
    for part, what in CHECKS.items():
        one = found.get(part)
        if not one:
            continue
        ended = one.get("ended", {})
        good: Optional[bool] = ended.get("code", 0) == 0
        reached = ended.get("how", "ok")
        if "cases" in one:
            cases = one["cases"].values()
            right = [case for case in cases if case["ok"]]
            worst = max((case.get("mean255", 0.0) for case in right), default=0.0)
            reached = f"{len(right)} of {len(one['cases'])} cases; worst mean difference {worst:.3f}/255"
            good = len(right) == len(one["cases"]) and one.get("complete", False)
        wrong = [*complaints(one.get("found", {})), *one.get("failures", {})]
        if wrong:
            good, reached = False, f"{len(wrong)} wrong: {', '.join(wrong[:3])}"
        if ended.get("code", 0) is None:
            good = None
        yield Row("right", what, "all of it", reached, good)


def complaints(found: dict[str, Any]) -> Iterator[str]:
    """What other programs say is wrong."""
    for name, value in found.items():
        if name == "wrong" and value:
            yield f"{len(value) if isinstance(value, (list, dict)) else value}"
        elif isinstance(value, str) and (value.startswith("WRONG") or name.endswith("FAILED")):
            yield name


def mixed(found: Found) -> Iterator[Row]:
    """Photographs of mixed kinds."""
    plain = found.rate("mixed", "mixed-420, GPU decodes")
    every = found.rate("mixed", "mixed-all, GPU decodes")
    part = ratio(every, plain)
    reached = f"{share(part)} ({number(every)} of {number(plain)} img/s)"
    yield Row("8", "GPU mode, kinds mixed, of 4:2:0 alone", "≥ 85 %", reached, at_least(part, 0.85))
    cpu = found.rate("mixed", "mixed-progressive-30, CPU decodes")
    gpu = found.rate("mixed", "mixed-progressive-30, GPU decodes")
    what = "30 % progressive, GPU mode, of CPU mode"
    reached = f"{share(ratio(gpu, cpu))} ({number(gpu)} of {number(cpu)} img/s)"
    yield Row("8", what, "more", reached, at_least(ratio(gpu, cpu), 1))
    cached, fed = (found.rate("mixed", f"resnet18, {name}") for name in ("cached", "mixed-all, auto"))
    what = 'ResNet-18, kinds mixed, device="cuda", of the cached batch\'s rate'
    reached = f"{share(ratio(fed, cached))} ({number(fed)} img/s)"
    yield Row("8", what, "≥ 95 %", reached, at_least(ratio(fed, cached), 0.95))


def rates(found: Found) -> Iterator[Row]:
    """Bars 1 and 2: nobody trains."""
    for kind, least in (("u8", 20_000), ("f32", 15_000)):
        name, value = found.best("cpu", f"{kind}, ")
        workers = name.partition(", ")[2]
        what = f"CPU mode to the device, {kind}, img/s"
        yield Row("1", what, f"≥ {least:,}", f"{number(value)} ({workers})", at_least(value, least))
    name, value = found.best("gpu", "f32, ")
    workers = name.partition(", ")[2]
    reached = f"{number(value)} ({workers})"
    yield Row("2", "GPU mode, f32 chw, img/s", "≥ 25,000", reached, at_least(value, 25_000))
    alone = found.rate("gpu", "nvJPEG by itself")
    part = ratio(value, alone)
    reached = f"{share(part)} of {number(alone)}"
    yield Row("2", "GPU mode, of nvJPEG's own rate", "≥ 70 %", reached, at_least(part, 0.7))
    few = [f"{n}: {number(found.rate('gpu', f'f32, {n} workers'))}" for n in (1, 2, 4)]
    yield Row("2", "GPU mode with few workers, img/s", "", ", ".join(few), None)
    _, large = found.best("gpu", "photographs, f32")
    alone = found.rate("gpu", "photographs, nvJPEG by itself")
    reached = f"{number(large)}, {share(ratio(large, alone))} of {number(alone)}"
    yield Row("4", "GPU mode, photographs, img/s, of nvJPEG's own rate", "", reached, None)


def training(found: Found) -> Iterator[Row]:
    """Bars 3 and 4: ResNets with nothing said."""
    for bar, part, words in (("3", "train", ""), ("4", "photos", ", photographs")):
        for model, name in MODELS.items():
            entry = found.entry(part, f"{model}, auto")
            kept = ratio(entry.get("median"), found.rate(part, f"{model}, cached"))
            reached = f"{share(kept)} ({number(entry.get('median'))} img/s, {'/'.join(who(entry))})"
            what = f"{name}{words}, device=\"cuda\", of the cached batch's rate"
            yield Row(bar, what, "≥ 97 %", reached, at_least(kept, 0.97))
            waited = middle(entry.get("waited"))
            good = None if waited is None else waited <= 0.02
            yield Row(bar, f"{name}{words}, time waited", "≤ 2 %", share(waited), good)


def who(entry: dict[str, Any]) -> list[str]:
    """Who decoded, in the end, over the rounds."""
    return [str(one).upper() for one in dict.fromkeys(entry.get("decode", []))] or ["–"]


def others(found: Found) -> Iterator[Row]:
    """Bars 5 to 7."""
    value = found.rate("generate", "kernel")
    yield Row("5", "generated images, img/s", "≥ 40,000", number(value), at_least(value, 40_000))
    drawn = found.rate("generate", "resnet18, kernel")
    there = found.rate("generate", "resnet18, there already")
    reached = f"{number(drawn)}, {share(ratio(drawn, there))} of the cached batch's"
    yield Row("5", "ResNet-18 on generated images, img/s", "", reached, None)
    right = found.get("generate").get("all right")
    yield Row("5", "generated: deterministic, resumable", "all of it", told(right), right)
    compared = found.get("jax").get("compared", {})
    for decode, one in compared.items():
        reached = one.get("error") or (
            f"{one['pointers equal']} pointers equal, mean difference {one['mean255']:.3f}/255, "
            f"{number(found.rate('jax', decode))} img/s (cached {number(found.rate('jax', 'cached'))})"
        )
        what = f"JAX, a jitted step, {decode.upper()} mode"
        needed = "zero copy, same values" if decode == "gpu" else "same values"
        yield Row("6", what, needed, reached, one["ok"])
    for name, one in found.get("deaths").get("cases", {}).items():
        memory = one.get("gpuMiB")
        reached = one.get("error", "")[:120] or (f"GPU memory, MiB: {memory}" if memory else "ok")
        yield Row("7", f"kill -9: {name}", "the other ends or goes on", reached, one["ok"])
    flat = found.get("flat")
    growth = flat.get("growth")
    reached = ", ".join(f"{name} {value:+} MiB" for name, value in growth.items()) if growth else "–"
    yield Row("7", "2,000 steps, what memory grew", "flat", reached, flat.get("flat"))


def llm(found: Found) -> Iterator[Row]:
    """A language model."""
    cached, fed = found.rate("llm", "cached"), found.rate("llm", "feed")
    if cached is None:
        return
    reached = f"{share(ratio(fed, cached))} ({number(fed)} tokens/s)"
    what = "GPT, 124 M parameters, one worker, cold, 4 corpora, of the cached batch's rate"
    yield Row("LLM", what, "≥ 99 %", reached, at_least(ratio(fed, cached), 0.99))
    for name in ("DataLoader, 1 worker", "DataLoader, 4 workers"):
        rate = found.rate("llm", name)
        yield Row("LLM", f"the same, {name}", "", f"{share(ratio(rate, cached))} ({number(rate)} tokens/s)", None)


def told(good: Optional[bool]) -> str:
    """In a word."""
    return {True: "yes", False: "no", None: "–"}[good]


# ------------------------------------------------------------ tables


def table(folder: Path) -> str:
    """All of it."""
    found = Found(folder)
    if not found.parts:
        return f"{folder} has no gpu-*.json\n"
    lines = ["| bar | what | needed | reached | verdict |", "| --- | --- | ---: | --- | --- |"]
    verdicts = {True: "reached", False: "**missed**", None: "–"}
    for row in (*checks(found), *rates(found), *training(found), *others(found), *llm(found), *mixed(found)):
        reached = " ".join(row.reached.replace("|", "/").split())
        lines.append(f"| {row.bar} | {row.what} | {row.needed} | {reached} | {verdicts[row.good]} |")
    return "\n".join([*head(found), "", *lines, "", *modes(found), *rest(found)]) + "\n"


def head(found: Found) -> list[str]:
    """Where and when."""
    one = max(found.parts.values(), key=lambda part: part["date"])
    versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
    commits: dict[str, list[str]] = {}
    for name, part in found.parts.items():
        commits.setdefault(part.get("commit", ""), []).append(name)
    alone = len(commits) == 1
    commit = [f"commit {c}" + ("" if alone else f" ({', '.join(names)})") for c, names in commits.items() if c]
    gpu = f"{one['gpu']}, driver {one['driver']}"
    words = [gpu, one["machine"], versions, one["cache"], one["date"][:10]]
    dry = ["**A dry run without a GPU: the figures mean nothing.**", ""] if one.get("dry") else []
    return [*dry, f"{'; '.join([*words, *commit])}."]


def modes(found: Found) -> list[str]:
    """The training rates of every mode."""
    columns = ("cached", "auto", "cpu", "gpu", "DataLoader")
    lines = [
        "| training, img/s (time waited) | cached batch | nothing said | CPU mode | GPU mode | DataLoader |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for part, words, suffixes in (
        ("train", "224²", [""]),
        ("cores", "224²", [", 4 workers", ", 8 workers"]),
        ("photos", "500×375", [""]),
    ):
        for suffix in suffixes:
            for model, name in MODELS.items():
                cells = []
                for column in columns:
                    own = column in ("cached", "DataLoader")
                    entry = found.entry(part, f"{model}, {column}{'' if own else suffix}")
                    cells.append(cell(entry, column == "auto"))
                if any(one != "–" for one in cells):
                    lines.append(f"| {name}, {words}{suffix} | {' | '.join(cells)} |")
    return lines if len(lines) > 2 else []


def cell(entry: dict[str, Any], named: bool) -> str:
    """A rate, the share of time that was waited, and who decoded where that was left open."""
    if not entry:
        return "–"
    waited = middle(entry.get("waited"))
    more = [] if waited is None else [share(waited)]
    more += who(entry) if named and entry.get("decode") else []
    return number(entry["median"]) + (f" ({', '.join(more)})" if more else "")


def rest(found: Found) -> list[str]:
    """What could not be measured."""
    lines = []
    for name, part in found.parts.items():
        for contender, why in part.get("failures", {}).items():
            lines.append(f"- {name}: {contender} failed: {' '.join(why.split())[:300]}")
        if part.get("left out"):
            lines.append(f"- {name}: left out: {', '.join(part['left out'])}")
        ended = part.get("ended", {})
        if ended.get("code") != 0 and ended:
            lines.append(f"- {name}: {ended['how']}")
    return ["", *lines] if lines else []


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1] if len(sys.argv) > 1 else "bench/results")))
