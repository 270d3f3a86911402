"""Conditions joined by $any, $all and $not, and null, over the table of make.py: `python joined.py`, after that.

Answered by duckdb 2.0.0, and by pandas 3.1.1 with its nullable types: both know three truths.
"""

import json
import random
from functools import reduce
from pathlib import Path

import duckdb
import pandas as pd

HERE = Path(__file__).parent
table = json.loads((HERE / "cases.json").read_text())["table"]
draw = random.Random(32)

# No floats that may be NaN: to duckdb NaN is equal to itself.
TYPES = {"i": "Int64", "x": "Float64", "n": "Int64", "t": "string", "w": "string", "b": "boolean", "big": "Int64"}
values = {name: [int(v) if name == "big" else v for v in table[name]] for name in TYPES}
frame = pd.DataFrame({name: pd.array(values[name], dtype=TYPES[name]) for name in TYPES})
frame["row"] = range(len(frame))
duckdb.register("t", frame)


def literal(value):
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value).upper()


def pick(name):
    return draw.choice([v for v in values[name] if v is not None])


def one(name):
    kind = draw.randrange(6)
    if kind == 0:
        return None
    if kind == 1:
        return [None, *(pick(name) for _ in range(draw.randrange(3)))]
    if kind == 2:
        return {draw.choice(["=", "!="]): None}
    if kind == 3:
        return pick(name)
    if kind == 4:
        return [pick(name) for _ in range(draw.randrange(1, 4))]
    return {draw.choice(["=", "!="] if name in "twb" else ["=", "!=", "<", "<=", ">", ">="]): pick(name)}


def where(depth):
    out = {}
    for _ in range(draw.randrange(1, 3)):
        kind = draw.choice(["$any", "$all", "$not", "column", "column"]) if depth else "column"
        if kind == "column":
            name = draw.choice(list(TYPES))
            out[name] = one(name)
        elif kind == "$not":
            out[kind] = where(depth - 1)
        else:
            out[kind] = [where(depth - 1) for _ in range(draw.randrange(1, 4))]
    return out


def compare_sql(name, sign, bound):
    if bound is None:
        return f'"{name}" IS {"NOT " if sign == "!=" else ""}NULL'
    return f'"{name}" {sign} {literal(bound)}'


def sql(given):
    parts = []
    for name, what in given.items():
        if name == "$not":
            parts.append(f"(NOT {sql(what)})")
        elif name in ("$any", "$all"):
            parts.append("(" + (" OR " if name == "$any" else " AND ").join(map(sql, what)) + ")")
        elif isinstance(what, list):
            parts.append("(" + " OR ".join(compare_sql(name, "=", bound) for bound in what) + ")")
        elif isinstance(what, dict):
            parts += [compare_sql(name, sign, bound) for sign, bound in what.items()]
        else:
            parts.append(compare_sql(name, "=", what))
    return "(" + " AND ".join(parts) + ")"


def compare(name, sign, bound):
    column = frame[name]
    if bound is None:
        return (column.notna() if sign == "!=" else column.isna()).astype("boolean")
    return getattr(column, {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[sign])(bound).astype(
        "boolean"
    )


def mask(given):
    parts = []
    for name, what in given.items():
        if name == "$not":
            parts.append(~mask(what))
        elif name in ("$any", "$all"):
            parts.append(reduce((lambda a, b: a | b) if name == "$any" else (lambda a, b: a & b), map(mask, what)))
        elif isinstance(what, list):
            parts.append(reduce(lambda a, b: a | b, [compare(name, "=", bound) for bound in what]))
        elif isinstance(what, dict):
            parts += [compare(name, sign, bound) for sign, bound in what.items()]
        else:
            parts.append(compare(name, "=", what))
    return reduce(lambda a, b: a & b, parts)


def told(given):
    """Integers beyond 2^53 are written as texts: JSON would round them."""
    if isinstance(given, dict):
        return {name: told(what) for name, what in given.items()}
    if isinstance(given, list):
        return [told(what) for what in given]
    return str(given) if type(given) is int and given > 2**53 else given


cases = []
while len(cases) < 150:
    given = where(3)
    rows = [row for (row,) in duckdb.sql(f"SELECT row FROM t WHERE {sql(given)} ORDER BY row").fetchall()]
    assert rows == frame.index[mask(given).fillna(False)].tolist(), given
    if rows:
        cases.append({"where": told(given), "rows": rows})
(HERE / "joined.json").write_text(json.dumps(cases) + "\n")
