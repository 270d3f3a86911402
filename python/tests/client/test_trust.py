"""What runs code: what this program built does; JSON, in a file or a dict, does when it is allowed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import HERE

import millrace

REFUSED = r"source\.python: this is a dataset in Python and would run code from .*allow_code=True in Python"


class Numbers:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return {"n": i}


def plus(sample, rng):
    return {"n": sample["n"] + 100}


def classes(sample, rng):
    return {"n": sample["cls"]}


def values(feed, **options):
    with millrace.Feed(feed, workers=1, **options) as opened:
        return [int(n) for batch in opened for n in batch["n"]]


@pytest.fixture
def built(engine):
    return millrace.dataset(Numbers(), name="numbers").batch(4)


def test_a_builder_runs_what_it_names(built):
    assert values(built) == list(range(8))


def test_json_does_not(built, tmp_path):
    told = built.json()
    with pytest.raises(millrace.DefinitionError, match=REFUSED):
        values(told)
    file = tmp_path / "numbers.json"
    file.write_text(json.dumps(told))
    with pytest.raises(millrace.DefinitionError, match=REFUSED):
        values(file)
    assert values(told, allow_code=True) == values(file, allow_code=True) == list(range(8))


def test_a_function_of_this_program_allows_no_other_code(engine, built):
    images = {"count": 8, "images": {"width": 8, "height": 8, "classes": 8}}
    plain = {
        "source": {"synthetic": images},
        "fields": {"n": {"from": "n", "as": "int"}},
        "batch": 4,
        "variants": {"evil": {"map": {"call": {"module": "evil.mjs", "export": "f", "hash": "0"}}}},
    }
    assert values(plain, map=classes) == list(range(8))
    with pytest.raises(millrace.DefinitionError, match=r"map\.call: this is a function and would run code"):
        values(plain, map=plus, variant="evil")
    with pytest.raises(millrace.DefinitionError, match=REFUSED):
        values(built.json(), map=plus)


def test_no_definition_names_the_interpreter(built, tmp_path):
    told = built.json()
    assert "command" not in told["source"]["python"]
    told["source"]["python"]["command"] = ["/bin/sh", "-c", f"touch {tmp_path}/run"]
    with pytest.raises(
        millrace.DefinitionError, match=r"command: a definition does not name the interpreter"
    ):
        values(told, allow_code=True)
    assert not Path(tmp_path, "run").exists()


def test_a_module_that_is_named_runs(engine, tmp_path):
    index = json.dumps(str(HERE.parents[1] / "dist" / "index.js"))
    file = tmp_path / "numbers.feed.mjs"
    file.write_text(
        f"""import {{ feed, int, synthetic }} from {index}
        const images = {{ width: 8, height: 8, classes: 8 }}
        export default feed({{ source: synthetic({{ count: 8, images }}),
                               fields: {{ n: int('cls').map(v => v + 10) }}, batch: 4 }})"""
    )
    assert values(file) == list(range(10, 18))


PLUGIN = """
const rows = {
  open: ({ count }) => ({ fingerprint: { count, digest: String(count) } }),
  attach: ({ fingerprint: { count } }) => ({
    count, columns: ["n"], runs: Float64Array.of(0),
    id: row => String(row), key: row => String(row), index: () => undefined,
    need() {}, sample: row => ({ n: row }),
  }),
}
export default { sources: { rows } }
"""


def test_a_plugin_is_loaded_by_the_engine_of_this_program(engine, tmp_path, monkeypatch):
    (tmp_path / "rows.mjs").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    rows = millrace.source("rows", count=6)
    feed = rows.fields(n=millrace.int("n")).batch(4, last="keep")
    assert feed.json()["source"] == {"rows": {"count": 6}}
    path = tmp_path / "rows.mjs"
    for plugin in ["rows.mjs", path, path.as_uri()]:
        assert values(feed, plugins=[plugin]) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(millrace.DefinitionError, match="is no source of Millrace's own|unknown source"):
        values(feed)
    with pytest.raises(millrace.DefinitionError, match=r"plugins is a list: plugins=\['rows.mjs'\]"):
        values(feed, plugins="rows.mjs")
