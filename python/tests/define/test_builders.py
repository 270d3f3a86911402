"""Builders are values: they can be copied and pickled, know their folder, and name mistakes at once."""

import copy
import json
import pickle
from pathlib import Path

import pytest

import millrace
from millrace.errors import DefinitionError

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "dist" / "index.js"
image, label = millrace.image("jpg").center_crop(32), millrace.int("cls")
base = millrace.tar("a.tar").fields(image=image).batch(8)


def test_a_kernel_has_fields_of_its_own():
    made = dict(entry="draw", count=9, fields={"x": dict(dtype="u8", shape=[2])})
    source = millrace.kernel("gen.cu", **made)
    assert source.batch(4).json() == {"source": {"kernel": {"file": "gen.cu", **made}}, "batch": 4}
    val = source.batch(4).variants(val=dict(source=millrace.kernel("gen.cu", **{**made, "count": 2})))
    assert val.json()["variants"] == {"val": {"source": {"kernel": {"count": 2}}}}


def test_chains_never_change_what_they_come_from():
    plain = millrace.image("jpg").center_crop(8)
    assert plain.flip() is not plain and plain.json()["apply"] == [{"centerCrop": {"size": 8}}]
    before = json.dumps(base.json())
    base.shuffle().fields(more=label).batch(4).on_error("drop").variants(v={})
    base.json()["fields"]["image"]["apply"].clear()
    base.variants(v=dict(fields=dict(image=label))).json()["variants"]["v"]["fields"].clear()
    assert json.dumps(base.json()) == before


def test_builders_can_be_copied_and_pickled():
    for same in (copy.deepcopy(base), pickle.loads(pickle.dumps(base))):
        assert same.json() == base.json() and same.root == base.root
    assert pickle.loads(pickle.dumps(image)).json() == image.json()


def test_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    feed = millrace.tar("a.tar")
    monkeypatch.chdir("/")
    assert feed.shuffle().root == str(tmp_path)
    assert feed.relative_to(__file__).root == str(Path(__file__).parent)
    assert feed.relative_to(tmp_path / "..").root == str(tmp_path.parent)


def test_open_is_feed(monkeypatch):
    opened = {}
    monkeypatch.setattr("millrace.feed.Feed", lambda feed, **options: opened.update(options, feed=feed))
    base.open(workers=3)
    assert opened == {"workers": 3, "feed": base}


@pytest.mark.parametrize(
    "attempt, kind, text",
    [
        (lambda: image.random_resized_corp(3), AttributeError, 'did you mean "random_resized_crop"?'),
        (lambda: image.randomResizedCrop(3), AttributeError, 'did you mean "random_resized_crop"?'),
        (lambda: millrace.mask("png").grayscale(), AttributeError, "is for images"),
        (lambda: millrace.int("cls").resize(3), AttributeError, "is for images"),
        (lambda: millrace.npy("x", shape=3, dtype="f32").crop([2]), AttributeError, '.apply({"crop": '),
        (lambda: millrace.npy("x", shape=3, dtype="f32").random_crop(2), AttributeError, '"at": "random"'),
        (lambda: image.quux(), AttributeError, "known: affine"),
        (lambda: base.shufle(seed=1), AttributeError, 'did you mean "shuffle"?'),
        (
            lambda: image.resize(8, fliter="nearest"),
            TypeError,
            'resize has no parameter "fliter"; did you mean "filter"?',
        ),
        (lambda: image.resize(8, interpolation="bicubic"), TypeError, 'it is called "filter" here'),
        (lambda: image.resize(8, maxSize=9), TypeError, 'did you mean "max_size"?'),
        (lambda: image.resize(), TypeError, "resize: missing a required argument: 'size'"),
        (lambda: image.normalize("imagenet", mean=0), TypeError, "not both"),
        (lambda: millrace.mixup(clases=3), TypeError, 'did you mean "classes"?'),
        (lambda: base.fields(image="jpg"), TypeError, 'field "image": expected a field'),
        (lambda: base.weighted(), TypeError, "exactly one of"),
        (
            lambda: millrace.concat(base),
            TypeError,
            "concat takes sources alone: say fields, batch about the whole",
        ),
        (lambda: millrace.concat("a.tar"), TypeError, 'such as millrace.tar("x.tar")'),
        (lambda: millrace.blend([("a", 1)]), TypeError, "blend takes sources"),
        (
            lambda: millrace.blend([dict(source=millrace.tar("a"), wieght=1)]),
            TypeError,
            'did you mean "weight"?',
        ),
        (lambda: base.variants(v=dict(sorce=1)), TypeError, 'did you mean "source"?'),
        (lambda: millrace.tar("a.tar").json(), DefinitionError, "has no fields yet: add fields"),
        (
            lambda: millrace.tar("a.tar").fields(x=label).json(),
            DefinitionError,
            "a batch size, such as .batch(256)",
        ),
        (lambda: image.rotate(float("nan")), ValueError, "nan has no form in JSON"),
        (lambda: image.resize({1}), TypeError, "resize.size: {1} has no form in JSON"),
    ],
)
def test_mistakes(attempt, kind, text):
    with pytest.raises(kind) as caught:
        attempt()
    assert text in str(caught.value)


def test_probing_is_harmless():
    for thing in (base, image):
        assert not hasattr(thing, "__array__") and not hasattr(thing, "_repr_html_")
