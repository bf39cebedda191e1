"""Any value becomes JSON within its budget."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import itertools
import json
import math
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from spoor_client.values import MIN_BUDGET, shrink, size_of, write

texts = st.text(st.characters(codec=None, exclude_categories=[])) | st.text('é€😀\x00\ud800\\"\n', max_size=300)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.decimals(allow_nan=True)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(texts | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=60,
)


@given(values, st.integers(0, 3000))
def test_any_value_becomes_json_within_its_budget(value: Any, budget: int) -> None:
    written = write(value, budget)
    json.loads(written.text)
    assert written.size == len(written.text.encode("utf-8")) <= max(budget, MIN_BUDGET)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)


@given(plain)
def test_values_that_fit_are_written_unchanged(value: Any) -> None:
    written = write(value, 1_000_000)
    assert json.loads(written.text) == value
    assert written.cuts == 0


@given(plain, st.integers(MIN_BUDGET, 2000))
def test_shrinking_respects_its_budget(value: Any, budget: int) -> None:
    once = shrink(write(value, 1_000_000).text, budget)
    assert size_of(once.text) <= budget
    json.loads(once.text)


def test_a_long_text_states_how_much_is_missing() -> None:
    text = json.loads(write("x" * 2_000_000, 100_000).text)
    kept, said = text.split("…")
    assert said == f"[cut {2_000_000 - len(kept):,} characters]"
    assert 99_000 < len(kept) < 100_000


def test_a_long_text_leaves_space_for_the_values_after_it() -> None:
    messages = [{"role": "system", "content": "s" * 1_000_000}, {"role": "user", "content": "the question"}]
    written = json.loads(write(messages, 700_000).text)
    assert written[1] == messages[1]
    assert len(written[0]["content"]) > 300_000


def test_many_items_end_with_the_number_of_missing_ones() -> None:
    items = json.loads(write(list(range(100_000)), 1_000).text)
    assert items[:-1] == list(range(len(items) - 1))
    assert items[-1] == f"…[cut {100_000 - len(items) + 1:,} items]"


def test_a_value_is_read_only_as_far_as_it_fits() -> None:
    looked = []

    class Item:
        def __repr__(self) -> str:
            looked.append(1)
            return "x" * 1_000

    assert write([Item() for _ in range(10_000)], 50_000).size <= 50_000
    assert len(looked) < 2_000


def test_cycles_are_marked_and_repetitions_are_not() -> None:
    inner: dict[str, Any] = {"a": 1}
    value: dict[str, Any] = {"one": inner, "two": inner}
    value["self"] = value
    assert json.loads(write(value, 1_000).text) == {"one": {"a": 1}, "two": {"a": 1}, "self": "[circular]"}


def test_depth_is_bounded() -> None:
    value: Any = "core"
    for _ in range(500):
        value = [value]
    text = write(value, 100_000).text
    assert text.count("[") == 65
    assert "deeper than 64 levels" in text


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: Any


class Model(BaseModel):
    name: str
    at: datetime.date


class Scalar:
    """numpy's scalars have this attribute."""

    shape = ()

    def item(self) -> float:
        return 1.5


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "expected"),
    ids=itertools.count(),
    argvalues=[
        (decimal.Decimal("12345678901234567890.12"), "12345678901234567890.12"),
        (decimal.Decimal("NaN"), '"NaN"'),
        (math.inf, '"Infinity"'),
        (10**30, "1" + "0" * 30),
        (10**5000, '"…[cut a number of 16,610 bits]"'),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), '"2026-01-02T03:04:05"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Path("a/b"), '"a/b"'),
        (Colour.RED, '"red"'),
        (Point(1, Colour.RED), '{"x":1,"y":"red"}'),
        (Model(name="n", at=datetime.date(2026, 1, 2)), '{"name":"n","at":"2026-01-02"}'),
        (Scalar(), "1.5"),
        (b"abc", '"[bytes of 3 bytes]"'),
        ((1, 2), "[1,2]"),
        ({1: "a", None: "b"}, '{"1":"a","None":"b"}'),
        (Hostile(), '"[Hostile]"'),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_python_types_that_json_lacks(value: Any, expected: str) -> None:
    assert write(value, 1_000).text == expected


def test_errors_are_name_message_and_stack() -> None:
    try:
        raise KeyError("key")
    except KeyError as error:
        written = json.loads(write(error, 100_000).text)
    assert written["name"] == "KeyError"
    assert written["message"] == "'key'"
    assert "test_values.py" in written["stack"]


def test_a_misbehaving_object_leaves_a_text() -> None:
    class Breaks(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("no")

    assert write(Breaks(), 1_000).text == '"[could not be written: RuntimeError]"'


def test_redaction_receives_every_key_and_values_on_which_it_fails_are_hidden() -> None:
    seen = []

    def redact(key: str, value: Any) -> Any:
        seen.append(key)
        if key == "password":
            return "[redacted]"
        return 1 / 0 if key == "broken" else value

    value = {"password": "secret", "in": [{"password": "secret", "broken": "secret"}]}
    written = write(value, 1_000, redact, "input").text
    assert "secret" not in written
    assert json.loads(written)["in"][0] == {"password": "[redacted]", "broken": "[redact failed: ZeroDivisionError]"}
    assert [name for name in seen if name] == ["input", "password", "in", "0", "password", "broken"]


TABLE = json.loads((Path(__file__).parents[4] / "test" / "fixtures" / "client" / "redaction.json").read_text())


def hide(key: str, value: Any) -> Any:
    return "***" if isinstance(value, str) and "SECRET" in value else value


@pytest.mark.parametrize("case", TABLE, ids=itertools.count())
def test_redaction_is_called_as_in_typescript(case: Any) -> None:
    calls = []

    def redact(key: str, value: Any) -> Any:
        calls.append([key, value])
        return hide(key, value)

    assert json.loads(write(case["value"], 10_000, redact, "input").text) == case["recorded"]
    # The table lists values. Keys are passed with the name "".
    assert [call for call in calls if call[0]] == case["calls"]


class Secret:
    def __repr__(self) -> str:
        return "SECRET"


class SecretText(str, enum.Enum):
    MEMBER = "SECRET"


class SecretValue(enum.Enum):
    MEMBER = "SECRET"


class SecretModel(BaseModel):
    inner: list[str]


class SecretScalar(Scalar):
    def item(self) -> Any:
        return "SECRET"


@dataclasses.dataclass
class Holder:
    held: Any


@pytest.mark.parametrize(
    "value",
    ids=itertools.count(),
    argvalues=[
        ["SECRET"],
        ("SECRET",),
        {"SECRET"},
        frozenset(["SECRET"]),
        collections.deque(["SECRET"]),
        {"k": "SECRET"}.values(),
        {"SECRET": 1}.keys(),
        [[["SECRET"]]],
        {1: ["SECRET"]},
        Holder(["SECRET"]),
        SecretModel(inner=["SECRET"]),
        ValueError("SECRET"),
        Path("SECRET"),
        SecretText.MEMBER,
        SecretValue.MEMBER,
        Secret(),
        SecretScalar(),
    ],
)
def test_redaction_receives_every_item_and_the_text_that_represents_an_object(value: Any) -> None:
    assert "SECRET" not in write([value], 10_000, hide, "input").text
    assert "SECRET" not in write(value, 10_000, hide, "input").text


def test_redaction_receives_keys_and_keeps_all_of_their_values() -> None:
    def hide_keys(name: str, value: Any) -> Any:
        return 1 if name == "" and value.startswith("SECRET") else value

    value = {"SECRET a": 1, "SECRET b": 2, "c": {7: 3}}
    written = json.loads(write(value, 1_000, hide_keys, "input").text)
    assert written == {"[redacted]": 1, "[redacted] 2": 2, "c": {"7": 3}}


def test_redaction_can_return_an_object() -> None:
    class Hidden:
        def __repr__(self) -> str:
            return "hidden"

    text = write({"a": "SECRET", "b": Secret()}, 1_000, lambda key, value: Hidden() if key else value, "").text
    assert json.loads(text) == {"a": "hidden", "b": "hidden"}
