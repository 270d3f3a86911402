"""The examples in Python run for a few steps, are stopped, and go on as if they had not been."""

from __future__ import annotations

import csv
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest
from conftest import HERE, ROOT
from patience import PATIENCE

EXAMPLES = ROOT / "examples"
pytestmark = pytest.mark.usefixtures("engine")


def start(name: str, *words: Any, folder: Path) -> "subprocess.Popen[str]":
    """An example, in a folder of its own."""
    line = [sys.executable, str(EXAMPLES / name), *map(str, words)]
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen(
        line,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(name: str, *words: Any, folder: Path) -> str:
    process = start(name, *words, folder=folder)
    try:
        out, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, errors
    return out


def curve(text: str) -> Dict[int, str]:
    """Losses by step, with all their digits."""
    return {int(step): loss for step, loss in re.findall(r"^step (\d+) loss (\S+)$", text, re.M)}


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_training_resumes_with_the_same_curve(library, tmp_path):
    pytest.importorskip(library)
    script = f"{library}_train.py"
    # 10 steps an epoch: the run is stopped in the second one.
    words = ("--batch", 200, "--steps", 24, "--save-every", 5)
    whole = curve(run(script, *words, "--checkpoint", "whole.saved", folder=tmp_path))
    assert list(whole) == list(range(1, 25))
    losses = [float(loss) for loss in whole.values()]
    assert sum(losses[-4:]) < 0.8 * sum(losses[:4])

    stopped = run(script, *words, "--stop", 13, folder=tmp_path)
    assert "run it again" in stopped
    resumed = run(script, *words, folder=tmp_path)
    assert "going on after step 10" in resumed
    assert curve(stopped) == {step: whole[step] for step in range(1, 14)}
    assert curve(resumed) == {step: whole[step] for step in range(11, 25)}


def test_a_gpt_resumes_with_the_same_curve(tmp_path):
    pytest.importorskip("torch")
    words = ("--steps", 24, "--save-every", 5, "--length", 32)
    whole = curve(run("gpt_train.py", *words, "--checkpoint", "whole.saved", folder=tmp_path))
    assert list(whole) == list(range(1, 25))
    losses = [float(loss) for loss in whole.values()]
    assert sum(losses[-4:]) < 0.8 * sum(losses[:4])
    stopped = run("gpt_train.py", *words, "--stop", 13, folder=tmp_path)
    resumed = run("gpt_train.py", *words, folder=tmp_path)
    assert "going on after step 10" in resumed
    assert curve(stopped) == {step: whole[step] for step in range(1, 14)}
    assert curve(resumed) == {step: whole[step] for step in range(11, 25)}


def test_packed_conversations_are_learnt_as_if_each_were_alone(tmp_path):
    pytest.importorskip("torch")
    said = run("finetune_chat.py", "--steps", 30, folder=tmp_path)
    packed, alone = re.search(r"^packed (\S+) alone (\S+)$", said, re.M).groups()
    assert float(packed) == pytest.approx(float(alone), rel=1e-4)
    losses = [float(loss) for loss in curve(said).values()]
    assert len(losses) == 30
    assert sum(losses[-4:]) < 0.3 * sum(losses[:4])


def photos(folder: Path, count: int) -> List[str]:
    """Small pictures in folders of any depth, one with a name that CSV has to quote; gives their ids."""
    from PIL import Image

    deep = ("a", "b/c", "b/d/e")
    names = [f"{deep[i % 3]}/{'one, two' if i == 7 else i}.jpg" for i in range(count)]
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        draw = random.Random(number)
        corners = bytes(draw.randrange(256) for _ in range(2 * 2 * 3))
        Image.frombytes("RGB", (2, 2), corners).resize((48, 40)).save(folder / name)
    return names


def rows(path: Path) -> List[List[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_inference_is_killed_again_and_again_and_says_everything_once(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("PIL")
    names = photos(tmp_path / "photos", 240)
    sys.path.insert(0, str(EXAMPLES))
    from torch_train import Net

    torch.manual_seed(1)
    torch.save({"net": Net().state_dict()}, tmp_path / "torch_train.pt")
    whole, out = tmp_path / "whole.csv", tmp_path / "predictions.csv"
    run("infer_folder.py", "photos", "--out", whole, folder=tmp_path)
    header, *expected = rows(whole)
    assert header == ["id", "prediction"]
    assert sorted(id for id, _ in expected) == sorted(names)
    assert len({said for _, said in expected}) > 1

    words = ("photos", "--batch", 2, "--save-every", 3)
    draw = random.Random(5)
    endings = []
    for _ in range(3):
        before = out.stat().st_size if out.exists() else 0
        process = start("infer_folder.py", *words, folder=tmp_path)
        # Somewhere in the middle: once the file has grown, and a little later.
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            if out.exists() and out.stat().st_size > before + 50:
                break
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        endings.append(process.returncode)
        with out.open("a") as file:
            file.write("half a ro")  # what a kill between rows and state would leave
    assert -signal.SIGKILL in endings
    run("infer_folder.py", *words, folder=tmp_path)
    assert rows(out) == [header, *expected]
    assert "is complete" in run("infer_folder.py", *words, folder=tmp_path)
    other = start("infer_folder.py", "elsewhere", folder=tmp_path)
    assert "is about" in other.communicate(timeout=PATIENCE)[1] and other.returncode == 1


def test_pictures_are_drawn_on_a_gpu_or_it_says_so(tmp_path):
    pytest.importorskip("torch")
    process = start("generate/train_generated.py", folder=tmp_path)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "this example needs a GPU" in errors
