"""Compressed arrays, decompressed by the engine, or left to a device up to its door."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib

import numpy as np
import pytest

import millrace
from millrace._stream import stream as stream_module
from millrace._view.staging import impossible
from millrace.feed import run_of

COUNT, SHAPE = 12, (16, 16, 32)
SIZE = 16 * 16 * 32 * 4
HEAD = 64


def array(i):
    return (np.round(np.sin(np.arange(SIZE // 4) / (20 + i)), 2) + i).astype("<f4").reshape(SHAPE)


def deflate(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACK = {"zlib": zlib.compress, "gzip": gzip.compress, "deflate": deflate}


@pytest.fixture
def shard(tmp_path):
    def write(pack, as_npy=False):
        with tarfile.open(tmp_path / "a.tar", "w") as tar:
            for i in range(COUNT):
                out = io.BytesIO()
                np.save(out, array(i))
                data = pack(out.getvalue() if as_npy else array(i).tobytes())
                info = tarfile.TarInfo(f"{i:03d}.bin")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return tmp_path / "a.tar"

    return write


def feed_of(path, compression, **options):
    field = millrace.npy("bin", shape=SHAPE, dtype="f32").compression(compression)
    return millrace.Feed(millrace.tar(str(path)).fields(x=field).batch(4).json(), **options)


@pytest.mark.parametrize("compression", PACK)
@pytest.mark.parametrize("as_npy", [False, True])
def test_by_the_engine(engine, shard, compression, as_npy):
    with feed_of(shard(PACK[compression], as_npy), compression) as feed:
        assert run_of(feed).stream.opened.compressed == ["x"]
        rows = [row.copy() for batch in feed for row in batch["x"]]
    assert len(rows) == COUNT
    for i, row in enumerate(rows):
        assert np.array_equal(row, array(i))


@pytest.mark.parametrize("compression", PACK)
def test_left_to_a_device_with_nvcomp(engine, shard, compression, monkeypatch):
    monkeypatch.setattr(stream_module, "without_nvcomp", lambda: None)
    with feed_of(shard(PACK[compression]), compression) as feed:
        run_of(feed).stream.decode_on("gpu", None)
        told = run_of(feed).stream.client.memory.layout.fields[0].device
        assert told == {
            "kind": "compressed", "codec": "deflate", "dtype": "f32", "dlpack": [2, 32, 1],
            "shape": list(SHAPE), "headBytes": HEAD,
        }  # fmt: skip
        taken = run_of(feed).stream.take(True)
        rows = taken.batch["x"]
        heads = rows[:, :HEAD].copy().view("<u4")
        assert rows.shape == (4, HEAD + SIZE) and (heads[:, 0] == 1).all() and (heads[:, 2] == SIZE).all()
        for i, (row, head) in enumerate(zip(rows, heads)):
            stream = row[HEAD : HEAD + head[1]].tobytes()
            assert zlib.decompress(stream, -15) == array(i).tobytes()

        rows[3, HEAD + 50 : HEAD + 90] = 0xFF  # a device would have refused it
        asked = {"redo": {"slot": taken.slot, "field": "x", "rows": [1, 3]}}
        good, bad = run_of(feed).stream.client.ask(asked)["redone"]
        assert good == {"row": 1, "ok": True}
        assert bad["row"] == 3 and not bad["ok"] and bad["stage"] == "decode"
        assert f"its {compression} data can't be decompressed" in bad["message"]
        assert rows[:, 0].tolist() == [1, 3, 1, 0] and not rows[3].any()
        assert np.array_equal(rows[1, HEAD:].copy().view("<f4").reshape(SHAPE), array(1))


def test_without_nvcomp_the_engine_does_it(engine, shard, monkeypatch):
    monkeypatch.setattr(stream_module, "without_nvcomp", lambda: "it is not there")
    with feed_of(shard(zlib.compress), "zlib") as feed:
        run_of(feed).stream.decode_on("gpu", None)
        assert np.array_equal(run_of(feed).stream.take(True).batch["x"][2], array(2))


def test_why_a_gpu_is_of_no_use(engine, shard, monkeypatch):
    with feed_of(shard(zlib.compress), "zlib") as feed:
        monkeypatch.setattr("millrace._view.staging.without_nvcomp", lambda: "libnvcomp.so.6: not found")
        why = "nvCOMP, to decompress arrays there, is missing: libnvcomp.so.6: not found"
        assert impossible(run_of(feed), 0) == why
