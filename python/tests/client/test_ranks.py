"""Who we are, and where ranks meet."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import HERE
from patience import PATIENCE

import millrace
from millrace._client.find_engine import Meeting, connect, private_folder
from millrace._open.ranks import Rank, find_rank, known_rank
from millrace.feed import run_of


class Mesh:
    """One dimension of a torch DeviceMesh, as far as it is asked."""

    ndim = 1

    def get_local_rank(self):
        return 2

    def size(self):
        return 4


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK": "1", "WORLD_SIZE": "4"}, (1, 4)),
        ({"SLURM_PROCID": "3", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8"}, (3, 8)),
        # A script of sbatch -n 4, without srun.
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (0, 1)),
        ({"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "6"}, (5, 6)),
        ({"RANK": "1"}, (0, 1)),
    ],
)
def test_launchers(env, expected):
    assert find_rank(None, None, None, env)[:2] == expected


def test_given_goes_before_mesh_and_mesh_before_launcher():
    env = {"RANK": "1", "WORLD_SIZE": "8"}
    assert find_rank(0, 2, Mesh(), env) == Rank(0, 2, "given")
    assert find_rank(None, None, Mesh(), env) == Rank(2, 4, "device mesh")
    with pytest.raises(millrace.DefinitionError, match="are no numbers"):
        find_rank(None, None, None, {"RANK": "first", "WORLD_SIZE": "8"})
    with pytest.raises(millrace.DefinitionError, match="rank: 9"):
        find_rank(9, 8)
    with pytest.raises(millrace.DefinitionError, match="world: rank=1 of how many"):
        find_rank(1, None)
    with pytest.raises(millrace.DefinitionError, match="rank: which one of world=4"):
        find_rank(None, 4)


def test_several_ranks_of_which_nothing_says_which_this_is(fake, monkeypatch):
    assert known_rank({"WORLD_SIZE": "2", "RANK": "1"})[:2] == (1, 2)
    mpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    assert known_rank({"WORLD_SIZE": "2", **mpi})[:2] == (1, 2)
    assert known_rank({"WORLD_SIZE": "1", "LOCAL_RANK": "0"})[:2] == (0, 1)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    with millrace.Feed(fake(20)) as feed:  # a group may come until it is used
        for use in (lambda: next(iter(feed)), lambda: len(feed)):
            with pytest.raises(millrace.DefinitionError, match=r"WORLD_SIZE=2 .*init_process_group\(\)"):
                use()
    with millrace.Feed(fake(20), rank=1, world=4) as feed:
        assert next(iter(feed))["number"][0] == 4


def test_jobs_and_processes_have_places_of_their_own(runtime_folder):
    one = {"MASTER_ADDR": "a", "MASTER_PORT": "1"}
    two = {"MASTER_ADDR": "a", "MASTER_PORT": "2"}
    paths = [
        Meeting.of_job(2, one).path,
        Meeting.of_job(2, two).path,
        Meeting.of_job(2, {}).path,
        Meeting.of_job(1, one).path,
    ]
    assert len(set(paths)) == 4
    assert Meeting.of_job(2, one).path == paths[0]
    assert all(Path(path).parent == runtime_folder / f"millrace-{os.getuid()}" for path in paths)


def test_jobs_of_one_starter_have_places_of_their_own():
    def place(**env):
        return Meeting.of_job(2, env).path

    assert place(RAY_JOB_ID="01000000") == place(RAY_JOB_ID="01000000")
    # Ray's, within one allocation or without; and programs in one allocation that srun has not started.
    places = [
        place(RAY_JOB_ID=id, **more) for id in ("01000000", "02000000") for more in ({}, {"MASTER_PORT": "1"})
    ]
    assert len(set(places)) == 2
    assert place(SLURM_JOB_ID="7") == place() != place(SLURM_JOB_ID="7", SLURM_STEP_ID="0")


def test_the_folder_must_be_ours_alone(runtime_folder):
    folder = private_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    with pytest.raises(millrace.MillraceError, match="only user"):
        private_folder()
    folder.rmdir()
    folder.symlink_to("/tmp")
    with pytest.raises(millrace.MillraceError, match="only user"):
        private_folder()
    folder.unlink()


def test_many_come_at_once_and_one_engine_is_started(fake, runtime_folder):
    def open_one(rank):
        return millrace.Feed(fake(80), rank=rank, world=4)

    with ThreadPoolExecutor(4) as threads:
        feeds = list(threads.map(open_one, range(4)))
    assert len({run_of(feed).stream.client.engine.pid for feed in feeds}) == 1
    seen = sorted(n for feed in feeds for batch in feed for n in batch["number"].tolist())
    assert seen == list(range(80))
    for feed in feeds:
        feed.close()


def test_feeds_of_one_process_share_an_engine(fake):
    with millrace.Feed(fake(8)) as train, millrace.Feed(fake(12)) as val:
        assert run_of(train).stream.client.engine.pid == run_of(val).stream.client.engine.pid
        assert [len(list(train)), len(list(val)), len(list(train))] == [2, 3, 2]


def test_a_dead_socket_in_the_way_is_removed(fake, runtime_folder):
    import socket

    path = Meeting.of_job(1).path
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    other = Path(path).with_name("0123456789abcdef.sock")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(other))
    stale.close()
    with millrace.Feed(fake(8)) as feed:
        assert len(list(feed)) == 2
        assert not other.exists()


def test_attaching_to_an_engine_that_runs(fake, tmp_path):
    path = f"/tmp/mr-{os.getpid()}.sock"
    with pytest.raises(millrace.MillraceError, match="no engine listens"):
        millrace.Feed(fake(8), socket=path)
    line = [
        sys.executable,
        str(HERE / "fake_engine.py"),
        "serve",
        "--socket",
        path,
        "--starter",
        str(os.getpid()),
    ]
    engine = subprocess.Popen(line, stderr=subprocess.DEVNULL)
    try:
        while (sock := connect(path)) is None:
            pass
        sock.close()
        with millrace.Feed(fake(8), socket=path) as feed:
            assert run_of(feed).stream.client.engine.pid == engine.pid
            assert len(list(feed)) == 2
    finally:
        engine.wait(PATIENCE)


FEED = {
    "source": {"synthetic": {"count": 101, "tensors": {"shape": [4]}}},
    "order": {"shuffle": "global", "seed": 9},
    "fields": {"data": {"from": "data", "as": "bytes", "ragged": {"max": 64}}},
    "batch": {"size": 4, "last": "keep"},
}


def test_an_epoch_begun_by_two_ranks_is_finished_by_three(engine, runtime_folder):
    pytest.importorskip("torch")
    # Two ranks stop after 5 steps; three go on; in the middle of that their engine is killed.
    runs = [{"world": 2, "stop": 5}, {"world": 3, "stop": -1, "kill": 3}]
    line = [sys.executable, str(HERE / "gloo_ranks.py"), json.dumps(FEED), json.dumps(runs)]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True)
    first, second = (json.loads(text) for text in done.stdout.splitlines())
    for run in (first, second):
        assert len({json.dumps(rank["state"]) for rank in run}) == 1  # every rank has the same state
        assert len({rank["engine"] for rank in run}) == 1  # and the same engine
    assert [rank["restarts"] for rank in first] == [0, 0]
    assert [rank["restarts"] for rank in second] == [1, 1, 1]
    ids = [[id for rank in run for id in rank["ids"]] for run in (first, second)]
    assert len(ids[0]) == first[0]["state"]["position"] == 40
    assert sorted(ids[0] + ids[1], key=int) == [str(i) for i in range(101)]
    assert (second[0]["state"]["epoch"], second[0]["state"]["position"]) == (1, 0)


GLOBAL = {**FEED, "batch": {"global": 8, "last": "keep"}}


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.parametrize("look", [0, 1])
def test_a_feed_that_is_opened_before_the_process_group_takes_its_rank(
    engine, runtime_folder, tmp_path, method, look
):
    pytest.importorskip("torch")
    line = [sys.executable, str(HERE / "late_ranks.py"), method, str(look), json.dumps(GLOBAL), str(tmp_path)]
    subprocess.run(line, timeout=PATIENCE, check=True)
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert [rank["before"] for rank in ranks] == [[0, 1, "alone", 8]] * 2
    assert [rank["after"] for rank in ranks] == [[r, 2, "torch.distributed", 4] for r in range(2)]
    assert [rank["steps"] for rank in ranks] == [13, 13]
    assert len({rank["engine"] for rank in ranks}) == 1
    ids = sorted((id for rank in ranks for id in rank["ids"]), key=int)
    assert ids == [str(i) for i in range(101)]
    # What was delivered to a rank alone can't be taken back.
    assert all("rank 0 of 1 (alone)" in rank["late"] for rank in ranks)


LIGHTNING = """
import json, os, sys
sys.path[:0] = [{package!r}]
import millrace, torch, lightning
feed = millrace.Feed({feed!r}, workers=1)
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.linear, self.ids = torch.nn.Linear(1, 1), []
    def training_step(self, batch, _):
        self.ids += batch.ids
        return self.linear(torch.zeros(1)).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
model = Model()
lightning.Trainer(
    devices=2, strategy="ddp", accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
).fit(model, feed.torch())
told = dict(ids=model.ids, rank=feed.rank, world=feed.world)
open(os.path.join({folder!r}, str(os.environ.get("LOCAL_RANK", 0))), "w").write(json.dumps(told))
"""


def test_lightning_starts_its_ranks_after_the_feed_was_opened(engine, runtime_folder, tmp_path):
    if importlib.util.find_spec("lightning") is None:
        pytest.skip("lightning is not installed")
    script = tmp_path / "train.py"
    # As many samples as two ranks make whole steps of: DDP wants the same number on both.
    feed = {**FEED, "source": {"synthetic": {"count": 96, "tensors": {"shape": [4]}}}}
    (tmp_path / "told").mkdir()
    folder = str(tmp_path / "told")
    script.write_text(LIGHTNING.format(package=str(HERE.parent), feed=feed, folder=folder))
    subprocess.run([sys.executable, str(script)], timeout=PATIENCE, check=True, cwd=tmp_path)
    ranks = [json.loads((tmp_path / "told" / str(rank)).read_text()) for rank in range(2)]
    assert [(rank["rank"], rank["world"]) for rank in ranks] == [(0, 2), (1, 2)]
    assert sorted((id for rank in ranks for id in rank["ids"]), key=int) == [str(i) for i in range(96)]


def test_members_of_a_rank_see_the_same_batches(engine, runtime_folder):
    feeds = [millrace.Feed(FEED, workers=1, rank=0, world=1, members=2) for _ in range(2)]

    def train(feed):
        seen = []
        for epoch in range(3):
            for i, batch in enumerate(feed):
                seen.append((batch.epoch, batch.ids, batch["data"].values.tobytes()))
                if epoch == 0 and i == 3:
                    break  # one of them is sooner here: the other still reads
        return seen

    with ThreadPoolExecutor(2) as threads:
        one, two = threads.map(train, feeds)
    assert one == two
    assert [len([b for b in one if b[0] == epoch]) for epoch in range(3)] == [4, 26, 26]
    for feed in feeds:
        feed.close()


def test_an_engine_of_another_user_is_refused(monkeypatch):
    folder = Path("/tmp") / f"mr-{os.getpid()}-other"  # the other user must be able to come here
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    path = str(folder / "engine.sock")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            os.chmod(path, 0o777)
            listener.listen()
            os.write(writing, b"!")
            listener.accept()[0].recv(1)
        finally:
            os._exit(0)
    try:
        os.read(reading, 1)
        if os.getuid() != 0:  # there is no other user to be: then this process is another
            user = os.getuid()
            monkeypatch.setattr(os, "getuid", lambda: user + 1)
        with pytest.raises(millrace.MillraceError, match="is served by user .* run by the same user"):
            millrace.Feed({"fake": {}}, socket=path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading), os.close(writing)
        shutil.rmtree(folder)
