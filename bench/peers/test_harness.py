"""The harness with contenders that cost what we say they cost. Needs pytest and numpy alone."""

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import compare  # noqa: E402
import data  # noqa: E402
import launch  # noqa: E402
import meter  # noqa: E402

HEAD = """
    import os, subprocess, sys, time
    TITLE = "Fake {name}"
    PACKAGES = ("numpy",)
    IN_PYTHON = False
    def prepare(data):
        (data.own / "written").touch()
"""


@pytest.fixture
def contender(tmp_path):
    def write(name, body, head=HEAD):
        path = tmp_path / f"{name}.py"
        path.write_text(textwrap.dedent(head.format(name=name)) + textwrap.dedent(body))
        return str(path)

    return write


@pytest.fixture
def pictures(tmp_path):
    """A data folder that passes for made: these contenders read nothing."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "made.json").write_text('{"count": 1}')
    return folder


def run(pictures, *contenders, out, seconds="0.5", rounds="2"):
    options = [
        "--data",
        str(pictures),
        "--pictures",
        "1",
        "--seconds",
        seconds,
        "--sweep",
        "1",
        "--rounds",
        rounds,
        "--others",
        "99",
    ]
    result = compare.main([*options, "--save", "--out", str(out), *contenders])
    return {found["name"]: found for found in result["contenders"]}


def test_takes_the_best_setting_and_says_why_others_are_missing(pictures, contender, tmp_path):
    paced = contender(
        "paced",
        """
        def variants(cores):
            return [{"ms": 100}, {"ms": 20}]
        def batches(data, ms):
            assert (data.own / "written").exists()
            while True:
                time.sleep(ms / 1000)
                yield None
        """,
    )
    absent = contender("absent", "import no_such_loader")
    broken = contender(
        "broken",
        """
        def variants(cores):
            return [{}]
        def batches(data):
            yield None
            raise ValueError("shard 3 is gone")
        """,
    )
    found = run(pictures, paced, absent, broken, out=tmp_path / "out")

    rate = found["paced"]["figures"]["imagesPerSecond"]
    assert found["paced"]["setting"] == {"ms": 20}
    assert 256 / 0.2 < rate["min"] <= rate["median"] <= rate["max"] <= 256 / 0.02
    assert found["paced"]["figures"]["firstBatchSeconds"]["min"] >= 0.02
    assert found["absent"]["skipped"] == "ModuleNotFoundError: No module named 'no_such_loader'"
    assert found["broken"]["skipped"] == "ValueError: shard 3 is gone"

    kept = json.loads((tmp_path / "out/peers.json").read_text())
    assert len(kept["contenders"][0]["rounds"]) == 2 and kept["machine"] and kept["date"]
    words = (tmp_path / "out/peers.md").read_text()
    assert "| Fake paced | ms 20 |" in words and "- Fake broken: ValueError: shard 3 is gone" in words
    assert "Fake paced</text>" in (tmp_path / "out/peers.svg").read_text()


def test_counts_cpu_and_memory_of_children_and_orphans(pictures, contender, tmp_path):
    """A busy child of 200 MB, orphaned at once: its CPU and memory are seen, and it ends with the run."""
    parent = contender(
        "parent",
        """
        BUSY = "held = bytearray(b'x') * 200_000_000\\nwhile True: pass"
        def variants(cores):
            return [{}]
        def batches(data):
            popen = f"subprocess.Popen([sys.executable, '-c', {BUSY!r}], stdout=2)"
            start = f"import subprocess, sys; print({popen}.pid)"
            with open(data.own / "pid", "w") as pid:
                subprocess.run([sys.executable, "-c", start], check=True, stdout=pid)
            time.sleep(1)
            while True:
                time.sleep(0.05)
                yield None
        """,
    )
    found = run(pictures, parent, out=tmp_path / "out", seconds="1.5", rounds="1")
    figures = found["parent"]["figures"]
    # The child shares the cores with whoever else runs; a meter that misses it sees next to nothing.
    assert found["parent"]["rounds"][0]["coresUsed"] > 0.2
    assert figures["peakPssBytes"]["median"] > 200e6
    pid = int((pictures / "parent/pid").read_text())
    assert pid not in meter.tree(1) and not Path(f"/proc/{pid}").exists()


def test_cpu_of_a_reaped_child_still_counts():
    before = meter.cpu_seconds(os.getpid())
    burn = "import time\nwhile time.process_time() < 0.4: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert meter.cpu_seconds(os.getpid()) - before >= 0.35


def test_memory_shared_by_a_fork_counts_once():
    held = bytearray(os.urandom(1 << 20) * 100)
    alone = meter.pss_bytes(os.getpid())
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        assert len(held) <= alone <= meter.pss_bytes(os.getpid()) + 1e6 <= alone + len(held) / 2
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_batches_of_another_form_are_refused(pictures, contender):
    wrong = contender(
        "wrong",
        """
        import numpy
        def variants(cores):
            return [{}]
        def batches(data):
            while True:
                yield numpy.zeros((256, 224, 224, 3), "f4")
        """,
        head=HEAD.replace("IN_PYTHON = False", "IN_PYTHON = True"),
    )
    with pytest.raises(launch.Failed, match=r"not \(256, 3, 224, 224\) of float32"):
        launch.run(sys.executable, wrong, "measure", pictures, 1, "{}", seconds=1)


def test_carrying_is_measured_in_bytes_and_from_completion(contender):
    carrier = contender(
        "carrier",
        """
        import numpy
        def arrays(size):
            while True:
                time.sleep(0.01)
                global done
                done = time.monotonic()
                time.sleep(0.005)
                yield numpy.zeros(size, "u1")
        def completed(array):
            return done
        """,
    )
    size, seconds = 1 << 20, 1
    found = launch.run(sys.executable, carrier, "carry", size, "false", seconds, seconds=seconds)
    assert found["gigabytesPerSecond"] <= size / 0.015 / 1e9
    assert found["arrays"] * size / 1e9 <= found["gigabytesPerSecond"] * (seconds + 1)
    assert found["latency"]["p50"] >= 5000


def test_data_of_another_size_is_refused(pictures):
    with pytest.raises(SystemExit, match="holds 1 pictures, not 2"):
        data.make(pictures, 2)
