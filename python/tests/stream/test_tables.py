"""Wide tables: many columns as one field, their statistics and categories, against pandas and NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import pytest
from conftest import CLI

import millrace
from millrace import MillraceError

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

pytestmark = pytest.mark.skipif(not CLI.exists(), reason="the engine is not built: npm run build")

ROWS, WIDE = 300, 1000


def table(seed: int = 0, rows: int = ROWS) -> Any:
    """Columns of every kind; f3 and f5 with gaps, f7 constant."""
    draw = np.random.default_rng(seed)
    columns: Dict[str, Any] = {f"f{i}": draw.normal(i, 1 + i % 7, rows) for i in range(WIDE)}
    columns["f1"] = columns["f1"].astype("float32")
    columns["f2"] = draw.integers(-(2**40), 2**40, rows)
    columns["f4"] = draw.integers(0, 2, rows).astype(bool)
    columns["f7"] = np.full(rows, 0.1)
    columns["f8"] = 1e6 + draw.normal(0, 1, rows)
    frame = pd.DataFrame(columns)
    frame.loc[frame.index % 13 == 0, "f3"] = np.nan
    frame.loc[frame.index % 11 == 0, "f5"] = np.nan
    frame.insert(0, "label", draw.integers(0, 10, rows))
    frame["city"] = draw.choice(["Ulm", "Bonn", "Aachen", "Österbro", "😀"], rows)
    frame["age"] = draw.integers(18, 90, rows)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("tables")
    table().to_parquet(made / "train.parquet", row_group_size=64)
    table(1, 40).to_parquet(made / "val.parquet")
    table().to_csv(made / "train.csv", index=False)
    table().to_feather(made / "train.arrow")
    return made


def together(feed: Any, *names: str, **options: Any) -> List[Any]:
    with feed.open(workers=1, **options) as opened:
        batches = list(opened.numpy())
    return [np.concatenate([batch[name] for batch in batches]) for name in names]


def standardized(frame: Any, by: Any) -> Any:
    """As pandas has it: gaps are left out; a constant column is divided by 1."""
    std = by.std(ddof=0)
    return ((frame - by.mean()) / std.where(by.nunique() > 1, 1)).to_numpy("float64")


F_COLUMNS = [f"f{i}" for i in range(WIDE)]


@pytest.mark.filterwarnings("ignore:The .float_precision")
@pytest.mark.parametrize("source", ["parquet", "csv", "arrow"])
def test_a_thousand_columns_are_one_field(folder: Path, source: str) -> None:
    frame = table()
    if source == "csv":
        frame = pd.read_csv(folder / "train.csv", float_precision="round_trip")
    opened = getattr(millrace, source)(str(folder / f"train.{source}"))
    feed = opened.fields(
        x=millrace.vector("f*").dtype("f64").missing(-1),
        some=millrace.vector(["age", "f?", "!f3"]).dtype("f64").missing(float("nan")),
        y=millrace.int("label"),
    ).batch(64)
    x, some, y = together(feed, "x", "some", "y")
    assert x.shape == (ROWS, WIDE)
    np.testing.assert_array_equal(x, frame[F_COLUMNS].astype("float64").fillna(-1))
    ten = ["age", "f0", "f1", "f2", "f4", "f5", "f6", "f7", "f8", "f9"]
    np.testing.assert_array_equal(some, frame[ten].astype("float64"))
    np.testing.assert_array_equal(y, frame["label"])


def test_standard_statistics_are_those_of_numpy(folder: Path) -> None:
    frame = table()[F_COLUMNS].astype("float64")
    feed = (
        millrace.parquet(str(folder / "train.parquet"))
        .fields(x=millrace.vector("f*").normalize("standard").clamp(-2, 2).missing(0).dtype("f64"))
        .batch(50)
    )
    (x,) = together(feed, "x")
    wanted = np.clip(standardized(frame, frame), -2, 2)
    np.testing.assert_allclose(x, np.nan_to_num(wanted), rtol=1e-9, atol=1e-9)
    assert x[:, 7].tolist() == [0] * ROWS


def test_statistics_come_from_the_main_source_after_split_and_where(folder: Path) -> None:
    """Every variant is normalised by what the feed itself is trained on."""
    train = millrace.subset(
        millrace.split(
            millrace.parquet(str(folder / "train.parquet")), parts={"train": 0.7, "val": 0.3}, take="train"
        ),
        where={"age": {">=": 30}},
    )
    fields = {
        "x": millrace.vector(["f*"]).normalize("standard").missing(0).dtype("f64"),
        "raw": millrace.vector(["f*"]).missing(float("nan")).dtype("f64"),
        "age": millrace.float("age").clamp(40, 60).normalize("standard").dtype("f64"),
        "years": millrace.int("age"),
        "city": millrace.category("city"),
        "name": millrace.text("city"),
    }
    feed = (
        train.fields(fields).batch(16).variants(val={"source": millrace.parquet(str(folder / "val.parquet"))})
    )
    x, raw, age, years = together(feed, "x", "raw", "age", "years")
    seen = pd.DataFrame(raw, columns=F_COLUMNS)
    assert 100 < len(seen) < 200 and years.min() >= 30
    np.testing.assert_allclose(x, np.nan_to_num(standardized(seen, seen)), rtol=1e-9, atol=1e-9)
    cut = np.clip(years, 40, 60)
    np.testing.assert_allclose(age, (cut - cut.mean()) / cut.std(), rtol=1e-12)

    val = table(1, 40)
    x, city, of_val = together(feed, "x", "city", "age", variant="val")
    np.testing.assert_allclose(
        x, np.nan_to_num(standardized(val[F_COLUMNS].astype("float64"), seen)), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(of_val, (np.clip(val["age"], 40, 60) - cut.mean()) / cut.std(), rtol=1e-12)
    cities = sorted(table()["city"].unique())
    assert [cities[i] for i in city] == val["city"].tolist()


def test_to_torch(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    feed = (
        millrace.parquet(str(folder / "train.parquet"))
        .fields(x=millrace.vector("f*").normalize("standard").missing(0), y=millrace.int("label"))
        .shuffle(seed=1)
        .batch(32)
    )
    with feed.open(workers=1) as opened:
        batch = next(iter(opened.torch()))
        assert batch["x"].shape == (32, WIDE) and batch["x"].dtype == torch.float32
        assert torch.isfinite(batch["x"]).all()


def test_mnist_as_csv(tmp_path: Path) -> None:
    """785 columns: a label and 784 pixels, of which many are always 0."""
    draw = np.random.default_rng(0)
    pixels = draw.integers(0, 256, (90, 784)) * (np.arange(784) % 3 > 0)
    frame = pd.DataFrame(pixels, columns=[f"pixel{i}" for i in range(784)])
    frame.insert(0, "label", draw.integers(0, 10, 90))
    frame.to_csv(tmp_path / "mnist.csv", index=False)
    feed = (
        millrace.csv(str(tmp_path / "mnist.csv"))
        .fields(
            bytes=millrace.vector(["*", "!label"]).dtype("u8"),
            unit=millrace.vector("pixel*").normalize(mean=0, std=255),
            z=millrace.vector("pixel*").normalize("standard"),
            y=millrace.int("label"),
        )
        .batch(30)
    )
    read, unit, z, y = together(feed, "bytes", "unit", "z", "y")
    assert read.dtype == np.uint8 and unit.dtype == np.float32
    np.testing.assert_array_equal(read, pixels)
    np.testing.assert_array_equal(unit, (pixels / 255).astype("float32"))
    std = pixels.std(0)
    wanted = (pixels - pixels.mean(0)) / np.where(std == 0, 1, std)
    np.testing.assert_allclose(z, wanted.astype("float32"), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(y, frame["label"])


def test_what_is_missing_is_bad_unless_it_is_filled(folder: Path) -> None:
    source = millrace.parquet(str(folder / "train.parquet"))
    feed = source.fields(x=millrace.vector(["f2", "f3"])).batch(8)
    with pytest.raises(MillraceError, match=r'train.parquet:0.*column "f3".*"missing" of the field'):
        together(feed, "x")
    dropped = source.fields(x=millrace.vector(["f2", "f3"]).dtype("f64")).batch(8).on_error("drop", 30)
    (x,) = together(dropped, "x")
    np.testing.assert_array_equal(x, table()[["f2", "f3"]].dropna())


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (
            millrace.vector(["agee", "f*"]),
            r'fields.x.from: the source has no column "agee"; .*did you mean "age"',
        ),
        (
            millrace.vector("f*").normalize(mean=[1, 2], std=1),
            "2 numbers, and the field has 1000 columns",
        ),
        (millrace.vector("city").normalize("standard"), 'field x, column "city": ".+" is not a number'),
        ({"from": ["f1", "f2"], "as": "float"}, 'alternatives of float are written "f1|f2"'),
    ],
)
def test_mistakes_are_said_when_the_feed_is_opened(folder: Path, field: Any, message: str) -> None:
    feed = millrace.parquet(str(folder / "train.parquet")).fields(x=field).batch(8)
    with pytest.raises(MillraceError, match=message):
        together(feed, "x")


def test_where_joins_conditions_and_null_is_no_value(folder: Path, tmp_path: Path) -> None:
    """As pandas has it; a file without a column has nulls there, and a variant's null is not a removal."""
    frame = table()
    bare = table(2, 30).drop(columns="f3")
    frame.to_parquet(tmp_path / "0.parquet")
    bare.to_parquet(tmp_path / "1.parquet")
    both = pd.concat([frame, bare], ignore_index=True)
    files = str(tmp_path / "*.parquet")
    young_or_no_f3 = {"$any": [{"age": {"<": 30}}, {"f3": None}], "$not": {"city": ["Ulm", "Bonn"]}}
    wanted = both[((both["age"] < 30) | both["f3"].isna()) & ~both["city"].isin(["Ulm", "Bonn"])]
    fields = {"f0": millrace.float("f0").dtype("f64")}
    sources = [
        millrace.parquet(files, where=young_or_no_f3),
        millrace.subset(millrace.parquet(files), where=young_or_no_f3),
    ]
    for source in sources:
        (found,) = together(source.fields(fields).batch(16), "f0")
        np.testing.assert_array_equal(found, wanted["f0"])
    feed = (
        millrace.subset(millrace.parquet(files), where={"f3": {"<": 3}})
        .fields(fields)
        .batch(16)
        .variants(val={"source": millrace.subset(millrace.parquet(files), where={"f3": None})})
    )
    np.testing.assert_array_equal(together(feed, "f0", variant="val")[0], both[both["f3"].isna()]["f0"])
    assert millrace.subset(millrace.csv("a"), where={"a": [None, 1]}).fields(fields).batch(1).json()[
        "source"
    ] == {"subset": {"source": {"csv": "a"}, "where": {"$all": [{"a": [None, 1]}]}}}


@pytest.mark.parametrize("name", ["take", "skip", "filter", "map", "where", "repeat"])
def test_methods_of_other_streams_say_what_serves_here(folder: Path, name: str) -> None:
    feed = millrace.parquet(str(folder / "val.parquet")).fields(y=millrace.int("label")).batch(8)
    with pytest.raises(AttributeError, match=rf'has no "{name}": .*(subset|map=fn|epochs=n)'):
        getattr(feed, name)
    with feed.open(workers=1) as opened, pytest.raises(AttributeError, match=f'Feed has no "{name}": '):
        getattr(opened, name)
