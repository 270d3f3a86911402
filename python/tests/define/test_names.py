"""What a newcomer types: options by other names, feeds where something else belongs, homes and copies."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import re
from operator import attrgetter
from pathlib import Path

import pytest

import millrace


@pytest.fixture
def feed(fake):
    with millrace.Feed(fake()) as opened:
        yield opened


@pytest.mark.parametrize(
    "name, said",
    [
        ("random_horizontal_flip", 'it is called "flip" here$'),
        ("RandomVerticalFlip", 'it is called "flip" here, with axis "vertical"$'),
        ("RandomIoUCrop", 'it is called "iou_crop" here$'),
        ("trivial_augment_wide", 'it is called "trivial_augment" here$'),
    ],
)
def test_names_of_torchvisions_operators(name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(millrace.image("jpg"), name)


def test_the_guides_name_what_a_feed_has():
    guides = "".join(page.read_text("utf8") for page in (Path(__file__).parents[3] / "docs").glob("*.md"))
    names = [name for name in vars(millrace.Feed) if not name.startswith("_")]
    assert "show" in names and "tensorflow" in names
    assert [name for name in names if not re.search(rf"[.`]{name}\b", guides)] == []


# ------------------------------------------------------------------ options


@pytest.mark.parametrize(
    "options, said",
    [
        ({"worker": 2}, 'Feed has no option "worker": did you mean "workers"?'),
        ({"num_workers": 2}, 'Feed has no option "num_workers": it is called workers'),
        ({"batch_size": 2}, r'Feed has no option "batch_size": the feed says it: \.batch\(256\)'),
        ({"prefetch_factor": 2}, "it is called depth"),
        ({"pin_memory": True}, "leave it out: .*page-locked"),
        ({"persistent_workers": True}, "leave it out: workers live as long as the feed"),
        ({"drop_last": True}, r'\.batch\(256, last="drop"\)'),
        ({"shuffle": True}, r"\.shuffle\(seed=7\) before \.batch"),
        ({"sampler": None}, r"\.weighted"),
        ({"collate_fn": len}, "batch_map=fn"),
        ({"transform": len}, r"from_torchvision\(transform"),
        ({"zzz": 1}, "known: feed, workers, affinity"),
    ],
)
def test_options_of_feed_and_open(fake, options, said):
    with pytest.raises(TypeError, match=said):
        millrace.Feed(fake(), **options)
    with pytest.raises(TypeError, match=said):
        millrace.tar("a.tar").fields(x=millrace.int("cls")).batch(4).open(**options)


@pytest.mark.parametrize("wrong", [True, False, "on", 2, ["all"]])
def test_what_tune_may_be_is_said_before_the_engine_is_asked(wrong):
    feed = millrace.tar("a.tar").fields(x=millrace.int("cls")).batch(4)
    with pytest.raises(ValueError, match="^tune: expected one of auto, all, off, not "):
        feed.open(tune=wrong)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda b: b.batch(batch_size=4), 'batch has no option "batch_size": it is called size'),
        (lambda b: b.batch(sise=4), 'batch has no option "sise": did you mean "size"?'),
        (lambda b: b.batch(4, drop_last=True), 'it is called last: .*last="drop"'),
        (lambda b: b.batch(4, shuffle=True), r"a call of its own: \.shuffle"),
        (lambda b: b.shuffle(buffer_size=1000), "it is called window"),
        (lambda b: b.shuffle(sed=1), 'did you mean "seed"?'),
    ],
)
def test_options_of_the_builder(call, said):
    with pytest.raises(TypeError, match=said):
        call(millrace.tar("a.tar"))


def test_options_of_a_view(feed):
    with pytest.raises(TypeError, match='numpy has no option "tupel": did you mean "tuple"?'):
        feed.numpy(tupel=("x",))
    with pytest.raises(TypeError, match='torch has no option "devise": did you mean "device"?'):
        feed.torch(devise="cuda")


def test_a_feed_that_is_not_open():
    with pytest.raises(TypeError, match=r"not open yet: for batch in feed\.open\(\)"):
        for _ in millrace.tar("a.tar"):
            pass


# ------------------------------------------------------------------ shapes


def test_a_shape_is_two_numbers_or_a_list():
    image, boxes = millrace.image("jpg"), millrace.boxes("json")
    expected = {"from": "jpg", "as": "image", "shape": [480, 640]}
    assert image.shape([480, 640]).json() == image.shape(480, 640).json() == expected
    assert image.shape((480, 640)).json() == image.shape(height=480, width=640).json() == expected
    assert boxes.shape([9, 5]).json() == boxes.shape(9, 5).json()
    for wrong in (lambda: image.shape(480), lambda: image.shape([480]), lambda: image.shape([4, 4], 4)):
        with pytest.raises(TypeError, match="shape takes height, width, as two numbers or as a list of two"):
            wrong()


# ------------------------------------------------------------------ states


@pytest.mark.parametrize(
    "state, said",
    [
        ({}, "an empty dict"),
        ({"model": 1, "optimizer": 2}, "no state of a feed, .* keys model, optimizer"),
        ({"_snapshot": {}, "_steps_since_snapshot": 0}, "PyTorch's StatefulDataLoader"),
        ({"feed": {"epoch": 0, "position": 0, "order": "x"}}, r"holds one: give \['feed'\] of it"),
        ("state.json", "not str: read its file first"),
    ],
)
def test_a_state_that_is_none_of_ours(fake, feed, state, said):
    with pytest.raises(millrace.StateError, match=said):
        feed.load_state_dict(state)
    with pytest.raises(millrace.StateError, match=said):
        millrace.Feed(fake(), state=state)


# ------------------------------------------------------------------ in place of a DataLoader


def test_a_view_in_a_dataloader(feed):
    data = pytest.importorskip("torch.utils.data")
    for what in (feed, feed.torch()):
        with pytest.raises(TypeError, match="in place of a DataLoader, not inside one"):
            next(iter(data.DataLoader(what)))
    with pytest.raises(TypeError, match="a feed or a view gives batches"):
        millrace.dataset(feed)


def test_a_feed_is_not_copied(feed):
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        for what in (feed, feed.numpy()):
            with pytest.raises(TypeError, match="is open: it can't be copied, pickled"):
                make(what)
    assert len(list(feed)) == 5


# ------------------------------------------------------------------ what is logged


def test_two_feeds_have_different_names(fake):
    with millrace.Feed(fake()) as one, millrace.Feed(fake()) as two:
        assert (one.name, two.name) == ("feed", "feed (2)")
    with millrace.Feed(fake()) as again:
        assert again.name == "feed"


@pytest.mark.parametrize(
    "source, name",
    [
        (millrace.tar("data/train-{0000..0015}.tar"), "train-{0000..0015}.tar"),
        (millrace.tar("a.tar", "b.tar"), "a.tar"),
        (millrace.folder("data/photos/", classes=["a"]), "photos"),
        (millrace.blend([(millrace.tar("x/a.tar"), 1.0), (millrace.tar("b.tar"), 1.0)]), "a.tar"),
        (millrace.split(millrace.folder("cats"), folds=2, take=0), "cats"),
        (millrace.synthetic(8, tensors=dict(shape=[1])), "synthetic"),
    ],
)
def test_a_feed_is_called_by_its_data(source, name):
    from millrace._open.definition import resolve

    built = source.fields(x=millrace.int("cls")).batch(2)
    assert resolve(built)[1] == resolve(built.json())[1] == name
    assert resolve(built, "val")[1] == f"{name}#val"


def test_the_line_of_an_epoch_can_be_silenced(feed, capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger("millrace"), "propagate", False)  # away from pytest's own handlers
    list(feed)
    assert "millrace: feed, epoch 0" in capsys.readouterr().err
    log = logging.getLogger("millrace")
    try:
        log.setLevel(logging.WARNING)
        list(feed)
        assert "epoch" not in capsys.readouterr().err
    finally:
        log.setLevel(logging.NOTSET)


# ------------------------------------------------------------------ homes


def test_the_home_folder(monkeypatch, tmp_path):
    from millrace._client.find_engine import Meeting
    from millrace._open.definition import resolve

    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cats.json").write_text('{"batch": 1}')
    assert resolve("~/cats.json#val") == resolve(str(tmp_path / "cats.json") + "#val")
    assert Meeting.at("~/cats.sock").path == os.path.join(tmp_path, "cats.sock")
    assert millrace.tar("a.tar").relative_to("~").root == str(tmp_path)
    (tmp_path / "pictures" / "cat").mkdir(parents=True)
    assert millrace.ImageFolder("~/pictures", allow_empty=True).classes == ["cat"]


# ------------------------------------------------------------------ names that are not there


@pytest.mark.parametrize(
    "use, said",
    [
        (lambda b: b.torch(), r"not open yet: feed\.open\(\)\.torch"),
        (lambda b: b.state_dict(), r"not open yet: feed\.open\(\)\.state_dict"),
        (lambda b: b.split(take="val"), r"it is millrace\.split"),
        (lambda b: b.shufle(), 'did you mean "shuffle"'),
        (lambda b: millrace.fodler("x"), "no attribute 'fodler'; did you mean \"folder\""),
        (lambda b: attrgetter("_nothing")(millrace), "no attribute '_nothing'$"),
    ],
)
def test_a_wrong_name_says_which_is_right(use, said):
    with pytest.raises(AttributeError, match=said):
        use(millrace.tar("a.tar"))


def test_a_feed_that_is_not_open_has_no_length_and_is_no_nothing():
    with pytest.raises(TypeError, match=r"len\(feed\.open\(\)\)"):
        len(millrace.tar("a.tar"))
    assert millrace.tar("a.tar")


def test_height_and_width_are_one_argument():
    with pytest.raises(TypeError, match=r"one argument: \[224, 112\]"):
        millrace.image("jpg").resize(224, 112)


def test_there_is_a_version():
    assert isinstance(millrace.__version__, str)


@pytest.mark.usefixtures("engine")
def test_element_types_by_other_names():
    numpy = pytest.importorskip("numpy")
    for name in ("float32", numpy.float32, numpy.dtype("float32")):
        feed = millrace.synthetic(4, images={"width": 8, "height": 8}).batch(2)
        with pytest.raises(millrace.DefinitionError, match='"float32"; it is called "f32" here'):
            feed.fields(image=millrace.image("jpg").resize([8, 8]).dtype(name)).open()
        with pytest.raises(millrace.DefinitionError, match='"float32"; it is called "f32" here'):
            feed.fields(x=millrace.npy("jpg", shape=8, dtype=name)).open()
