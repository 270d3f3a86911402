"""Bad samples: what ends a run, and what is said about it."""

import pytest

import millrace
from millrace._stream.judge import Judge


def bad(row, name=None, **more):
    name = name or f"sample-{row}"
    told = {
        "row": row,
        "id": name,
        "stage": "decode",
        "field": "image",
        "problem": f"{row} bytes are missing",
    }
    return {**told, "message": f"{name}: torn", **more}


def judge_batches(batches, policy="drop", budget=10**6, size=50, epoch_rows=10**6):
    judge = Judge()
    for step, rows in enumerate(batches):
        for row in rows:
            judge.sample(bad(row, f"sample-{step * size + row}"), policy, budget)
        judge.batch(size, policy, epoch_rows)
    return judge


@pytest.mark.parametrize("policy", ["drop", "mask"])
def test_more_than_half_of_the_first_thousand_is_an_error_with_the_causes_counted(policy):
    with pytest.raises(millrace.MillraceError) as raised:
        judge_batches([range(30)] * 20, policy)
    assert "510 of the first 850 samples are bad" in str(raised.value)
    assert '510 × decode of field "image" failed: 0 bytes are missing (sample-0, sample-1' in str(
        raised.value
    )
    judge = judge_batches([range(25)] * 20, policy)
    judge_batches([[]] * 20 + [range(50)] * 20, policy)  # later on, only the budget counts
    assert judge.count == 500


def test_a_small_epoch_is_judged_when_it_ends():
    judge = judge_batches([range(30)] * 3, epoch_rows=150)
    with pytest.raises(millrace.MillraceError, match="90 of the first 150"):
        judge.epoch_ends("drop", 150)
    judge = judge_batches([range(30)], epoch_rows=50)
    assert judge.epoch_ends("drop", 50) == "30 bad samples dropped: sample-0, sample-1, sample-2 and 27 more"
    assert judge.epoch_ends("drop", 50) is None


@pytest.mark.parametrize("policy", ["drop", "mask"])
@pytest.mark.parametrize(
    "tag, kind", [("Definition", millrace.DefinitionError), ("Missing", millrace.MissingError)]
)
def test_a_mistake_is_no_bad_sample(policy, tag, kind):
    with pytest.raises(kind, match="is for bad samples"):
        Judge().sample(bad(0, mistake=tag), policy, 100)


def test_a_file_that_changed_is_an_error_of_the_source():
    with pytest.raises(millrace.SourceError, match="torn"):
        Judge().sample(bad(-1, mistake="Changed"), "drop", 10)
    with pytest.raises(millrace.MillraceError) as raised:
        Judge().sample(bad(-1), "drop", 10)
    assert type(raised.value) is millrace.MillraceError


@pytest.mark.parametrize("suspect, words", [("code", "your code fails"), ("column", "no sample can be made")])
def test_code_that_throws_for_every_sample_ends_the_run(suspect, words):
    judge = Judge()
    for row in range(4):
        judge.sample(bad(row, suspect=suspect), "drop", 100)
    with pytest.raises(millrace.DefinitionError, match=words):
        judge.batch(4, "drop", 1000)
    judge = Judge()
    for row in range(3):
        judge.sample(bad(row, suspect=suspect), "drop", 100)
    judge.batch(4, "drop", 1000)  # one of them was good


def test_the_budget_counts_names():
    judge = Judge()
    for _ in range(3):
        judge.sample(bad(1), "drop", 1)
    assert judge.count == 1 and [one["id"] for one in judge.samples] == [bad(1)["id"]]
    with pytest.raises(millrace.MillraceError, match="2 bad samples are more than onError.budget = 1 allows"):
        judge.sample(bad(2), "drop", 1)


def test_a_real_engine_tells_of_mistakes(engine, tmp_path):
    for i in range(8):
        (tmp_path / f"{i}.txt").write_text(str(i))
    definition = {
        "source": {"files": "*.txt"},
        "fields": {"label": {"from": "klass", "as": "int"}},
        "batch": {"size": 4, "last": "keep"},
        "onError": "drop",
    }
    for source in (
        {"files": str(tmp_path / "*.txt")},
        {"synthetic": {"count": 8, "tensors": {"shape": [1]}}},
    ):
        with (
            pytest.raises(millrace.DefinitionError, match='no column "klass"'),
            millrace.Feed({**definition, "source": source}) as feed,
        ):
            list(feed)
