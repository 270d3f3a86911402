"""What compare.py found, for people: a Markdown table and a plot as SVG; and for machines: JSON."""

import json
from html import escape

BASELINE = "torch_dataloader"


def save(result, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    (folder / "peers.md").write_text(table(result))
    (folder / "peers.svg").write_text(plot(result))


def ranked(result):
    """Contenders that were measured, fastest first."""
    measured = [c for c in result["contenders"] if c["figures"]]
    return sorted(measured, key=lambda c: -rate(c)["median"])


def rate(contender):
    return contender["figures"]["imagesPerSecond"]


def baseline(result):
    return next((c for c in ranked(result) if c["name"] == BASELINE), None)


def table(result):
    base = baseline(result)
    lines = [
        f"{result['what']}.",
        "",
        f"{result['date'][:10]}, {result['machine']}; Millrace {result['commit']}, Node {result['node']}, "
        f"Python {result['python']}. {result['cache']}. Median (least–greatest) of "
        f"{result['rounds']} rounds of {result['seconds']:g} s in random order, each run a fresh process, "
        "best setting of each. CPU and memory (PSS) over all processes of a contender.",
        "",
        "| contender | setting | img/s | × PyTorch | first batch, s | CPU s / 1,000 img | peak memory, MiB |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for contender in ranked(result):
        figures = contender["figures"]
        times = f"{rate(contender)['median'] / rate(base)['median']:.2f}" if base else "–"
        failures = f" ({contender['failures']} runs failed)" if contender["failures"] else ""
        lines.append(
            f"| {contender['title']}{failures} | {setting(contender)} "
            f"| {cell(rate(contender), '.0f')} | {times} "
            f"| {cell(figures['firstBatchSeconds'], '.2f')} | {cell(figures['cpuSecondsPer1000'], '.2f')} "
            f"| {cell(figures['peakPssBytes'], '.0f', 2**20)} |"
        )
    versions = {name: v for c in result["contenders"] for name, v in c["versions"].items() if v}
    lines += ["", "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."]
    missing = [c for c in result["contenders"] if not c["figures"]]
    if missing:
        lines += ["", "Not measured:", ""]
        lines += [
            f"- {c['title']}: {c['skipped'] or 'every run failed: ' + first_failure(c)}" for c in missing
        ]
    others = [run["coresUsedByOthers"] for c in ranked(result) for run in c["rounds"] if "failed" not in run]
    if others:
        lines += ["", f"Other programs on the machine used at most {max(others):.2f} cores during a run."]
    return "\n".join(lines) + "\n"


def setting(contender):
    return ", ".join(f"{name} {value}" for name, value in contender["setting"].items())


def cell(values, form, unit=1):
    median, low, high = (format(values[key] / unit, form) for key in ("median", "min", "max"))
    return f"{median} ({low}–{high})"


def first_failure(contender):
    return next((run["failed"] for run in contender["rounds"] if "failed" in run), "no run")


BAR, GAP, LEFT, WIDTH = 22, 10, 250, 520


def plot(result):
    """Bars of img/s with whiskers from the least to the greatest round."""
    contenders = ranked(result)
    top = max((rate(c)["max"] for c in contenders), default=1)
    height = 56 + len(contenders) * (BAR + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 90} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#222">',
        f'<rect width="100%" height="{height}" fill="#fff"/>',
        f'<text x="12" y="20" font-weight="600">Images per second · {escape(result["machine"].split(",")[0])}'
        f" · {result['date'][:10]}</text>",
        f'<text x="12" y="38" font-size="11" fill="#666">{escape(result["what"])}</text>',
    ]
    for i, contender in enumerate(contenders):
        y = 52 + i * (BAR + GAP)
        median, low, high = (rate(contender)[key] / top * WIDTH for key in ("median", "min", "max"))
        colour = "#0a7d6c" if contender["name"].startswith("millrace") else "#9aa5b1"
        middle = y + BAR / 2
        parts += [
            f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(contender["title"])}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{median:.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
            f'<path d="M{LEFT + low:.1f} {middle}H{LEFT + high:.1f}" stroke="#222" stroke-width="1.5"/>',
            f'<text x="{LEFT + high + 8:.1f}" y="{middle + 4}">{rate(contender)["median"]:,.0f}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
