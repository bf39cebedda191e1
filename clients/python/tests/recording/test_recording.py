"""The server stores exactly what an application records."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from spoor_client import ContextExecutor, Spoor, Step
from tests.conftest import Server

Read = Callable[[Any], Any]


def names(detail: Any) -> dict[str, str | None]:
    """Returns each span's name with its parent's name."""
    by_id = {span["id"]: span["name"] for span in detail["spans"]}
    return {span["name"]: by_id.get(span["parentSpanId"]) for span in detail["spans"]}


def test_a_trace_with_all_its_fields(client: Spoor, read: Read) -> None:
    with client.trace(
        "agent", session_id="s", user_id="u", tags=["a", "a", "b"], input={"q": 1}, metadata={"release": "1"}
    ) as trace:
        trace.add_tags("c")
        trace.set_metadata({"reviewed": True})
        with client.span("call", kind="llm", model="gpt-x", provider="openai", attributes={"temperature": 0.5}) as span:
            span.set_input(["hello"])
            span.set_output("hi")
            span.set_usage(10, 5, cost_usd=0.25)
            span.add_event("first token", {"ms": 12})
        trace.set_output("done")
        trace.score("helpful", True, "because")
        span.score("tone", "kind")
    detail = read(trace)
    stored = detail["trace"]
    assert {key: stored[key] for key in ("name", "status", "sessionId", "userId", "tags", "input", "output")} == {
        **{"name": "agent", "status": "ok", "sessionId": "s", "userId": "u"},
        **{"tags": ["a", "b", "c"], "input": {"q": 1}, "output": "done"},
    }
    assert stored["metadata"] == {"release": "1", "reviewed": True}
    # These are the values of the nested model call.
    assert (stored["usage"]["totalTokens"], stored["costUsd"]) == (15, 0.25)
    assert (stored["model"], stored["provider"]) == ("gpt-x", "openai")
    call = detail["spans"][0]
    assert (call["kind"], call["status"], call["input"], call["output"]) == ("llm", "ok", ["hello"], "hi")
    assert call["attributes"] == {"temperature": 0.5}
    assert call["events"][0]["name"] == "first token"
    assert call["events"][0]["attributes"] == {"ms": 12}
    scores = {score["name"]: (score["value"], score["comment"], score["spanId"]) for score in detail["scores"]}
    assert scores == {"helpful": (True, "because", None), "tone": ("kind", None, span.id)}


def test_an_observed_function_is_a_trace_and_its_calls_are_spans(client: Spoor, read: Read) -> None:
    traces: list[Step] = []

    @client.observe(kind="retriever")
    def search(question: str, limit: int = 3) -> list[str]:
        return [question] * limit

    @client.observe(name="answer")
    def answer(question: str) -> str:
        traces.append(client.current() or pytest.fail("nothing is current"))
        return search(question)[0]

    assert answer("why") == "why"
    assert client.current() is None
    detail = read(traces[0])
    assert detail["trace"]["name"] == "answer"
    assert (detail["trace"]["input"], detail["trace"]["output"]) == ({"question": "why"}, "why")
    (span,) = detail["spans"]
    assert span["name"].endswith("search")
    assert (span["kind"], span["input"], span["output"]) == ("retriever", {"question": "why"}, ["why"] * 3)


class Agent:
    def __init__(self, client: Spoor) -> None:
        self.client = client

    def plan(self, goal: str) -> str:
        return goal.upper()


def test_a_method_is_observed_without_self(client: Spoor, read: Read) -> None:
    observed = client.observe(Agent.plan)
    with client.trace("t") as trace:
        assert observed(Agent(client), goal="go") == "GO"
    assert read(trace)["spans"][0]["input"] == {"goal": "go"}


def test_a_failing_function_is_an_error_and_raises_the_same_exception(client: Spoor, read: Read) -> None:
    @client.observe
    def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"), client.trace("failing") as trace:
        fail()
    detail = read(trace)
    assert detail["trace"]["status"] == "error"
    assert detail["trace"]["metadata"]["error"]["message"] == "broken"
    (span,) = detail["spans"]
    assert span["status"] == "error"
    assert span["events"][0]["attributes"]["exception.type"] == "ValueError"
    assert "test_recording.py" in span["events"][0]["attributes"]["exception.stacktrace"]


def test_concurrent_coroutines_do_not_mix(client: Spoor, tag: str) -> None:
    @client.observe
    async def step(number: int) -> int:
        await asyncio.sleep(0.001)
        return number

    async def run(number: int) -> None:
        async with client.trace(f"run {number}", tags=[tag]):
            await asyncio.gather(*(step(number) for _ in range(3)))

    async def main() -> None:
        await asyncio.gather(*(run(number) for number in range(10)))

    asyncio.run(main())
    assert client.flush(20).is_complete
    for summary in client.traces.all(tag=tag):
        detail = client.traces.get(summary["id"])
        number = int(summary["name"].split()[1])
        assert [span["output"] for span in detail["spans"]] == [number] * 3


def test_generators_are_recorded_while_they_are_read(client: Spoor, read: Read) -> None:
    @client.observe
    def words() -> Iterator[str]:
        client.span("inner").end()
        yield "a"
        yield "b"

    @client.observe
    async def letters() -> AsyncIterator[str]:
        client.span("inner").end()
        yield "c"
        yield "d"

    async def gather() -> list[str]:
        return [letter async for letter in letters()]

    with client.trace("t") as trace:
        for _ in words():
            # The reader's own calls are not part of the generator's step.
            client.span("reader").end()
        assert asyncio.run(gather()) == ["c", "d"]
    detail = read(trace)
    outputs = {span["name"].split(".")[-1]: span["output"] for span in detail["spans"]}
    assert (outputs["words"], outputs["letters"]) == ("ab", "cd")
    assert names(detail)["reader"] is None
    parents = [each["parentSpanId"] for each in detail["spans"] if each["name"] == "inner"]
    assert all(parents) and len(set(parents)) == 2


def test_generators_keep_their_nature(client: Spoor) -> None:
    @client.observe
    def echo() -> Any:
        got = yield "ready"
        with contextlib.suppress(KeyError):
            yield f"got {got}"
        yield "caught"
        return "result"

    def delegate() -> Any:
        return (yield from echo())

    generator = delegate()
    assert next(generator) == "ready"
    assert generator.send(5) == "got 5"
    assert generator.throw(KeyError("x")) == "caught"
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == "result"


def test_asynchronous_generators_keep_their_nature(client: Spoor) -> None:
    @client.observe
    async def echo() -> Any:
        got = yield "ready"
        try:
            yield f"got {got}"
        except KeyError:
            yield "caught"

    async def main() -> None:
        generator = echo()
        assert await generator.__anext__() == "ready"
        assert await generator.asend(5) == "got 5"
        assert await generator.athrow(KeyError("x")) == "caught"
        with pytest.raises(StopAsyncIteration):
            await generator.__anext__()

    asyncio.run(main())


@pytest.mark.parametrize("how", ["closed", "collected"])
def test_a_partly_read_generator_leaves_nothing_running(client: Spoor, read: Read, how: str) -> None:
    @client.observe
    def count() -> Iterator[int]:
        yield from range(10)

    with client.trace("t") as trace:
        generator = count()
        next(generator)
        if how == "closed":
            generator.close()  # type: ignore[attr-defined]
        del generator
        gc.collect()
    (span,) = read(trace)["spans"]
    assert (span["status"], span["output"]) == ("unset", [0])
    assert [event["name"] for event in span["events"]] == ["not read to its end"]


def test_a_trace_waits_for_a_stream_that_is_read_after_its_end(client: Spoor, read: Read) -> None:
    @client.observe
    def stream() -> Iterator[str]:
        yield "a"
        yield "b"

    with client.trace("t") as trace:
        generator = stream()
        next(generator)
    assert client.flush(0.2).sent == 0
    assert list(generator) == ["b"]
    detail = read(trace)
    assert detail["trace"]["status"] == "ok"
    assert detail["spans"][0]["output"] == "ab"
    assert detail["trace"]["endedAt"] >= detail["spans"][0]["endedAt"]


def test_a_span_that_is_dropped_is_recorded_as_not_ended(client: Spoor, read: Read) -> None:
    with client.trace("t") as trace:
        trace.start_span("forgotten")
        gc.collect()
    (span,) = read(trace)["spans"]
    assert (span["status"], span["events"][0]["name"]) == ("unset", "not ended")


def test_a_trace_that_is_dropped_is_recorded_as_not_ended(client: Spoor, tag: str) -> None:
    client.start("forgotten", tags=[tag])
    gc.collect()
    assert client.flush(20).sent == 1
    (summary,) = client.traces.all(tag=tag)
    assert summary["status"] == "unset"
    assert client.traces.get(summary["id"])["trace"]["metadata"] == {"spoor": {"notEnded": True}}


def test_context_executor_threads_continue_the_trace(client: Spoor, read: Read) -> None:
    def work(number: int) -> None:
        client.span(f"work {number}").end()

    with client.trace("t") as trace, client.span("outer"), ContextExecutor(4) as pool:
        list(pool.map(work, range(8)))
    parents = names(read(trace))
    assert parents == {"outer": None, **{f"work {number}": "outer" for number in range(8)}}


def test_other_threads_neither_join_the_trace_nor_create_empty_ones(client: Spoor, tag: str) -> None:
    with client.trace("t", tags=[tag]):
        thread = threading.Thread(target=lambda: client.current() and pytest.fail("a trace is current"))
        thread.start()
        thread.join()
    assert client.flush(20).sent == 1


def test_a_span_without_a_trace_gets_one(client: Spoor, read: Read) -> None:
    with client.span("alone", kind="tool", input="in") as span:
        span.set_output("out")
    detail = read(span)
    stored = detail["trace"]
    assert (stored["name"], stored["status"], stored["input"], stored["output"]) == ("alone", "ok", "in", "out")
    assert (detail["spans"][0]["kind"], detail["spans"][0]["output"]) == ("tool", "out")


def test_manually(client: Spoor, read: Read) -> None:
    trace = client.start("job", input="in")
    span = trace.start_span("step", kind="tool")
    assert client.current() is None
    inner = span.start_span("inner")
    inner.end(output=1, status="ok")
    span.end(error=RuntimeError("no"))
    span.end(output="too late")
    trace.end(output="out", status="error")
    detail = read(trace)
    assert detail["trace"]["status"] == "error"
    assert names(detail) == {"step": None, "inner": "step"}
    assert [each["output"] for each in detail["spans"]] == [None, 1]


def test_a_live_trace_is_seen_while_it_runs(client: Spoor, read: Read) -> None:
    with client.trace("long", live=True, input="in", metadata={"a": 1}) as trace:
        with trace.span("first"):
            pass
        assert client.flush(20).kept == 0
        running = client.traces.get(trace.id)
        assert running["trace"]["status"] == "running"
        assert [span["name"] for span in running["spans"]] == ["first"]
        trace.score("early", 0.5)
        trace.set_metadata({"b": 2})
        with trace.span("second"):
            pass
    detail = read(trace)
    assert (detail["trace"]["status"], detail["trace"]["input"]) == ("ok", "in")
    assert detail["trace"]["metadata"] == {"a": 1, "b": 2}
    assert [span["name"] for span in detail["spans"]] == ["first", "second"]
    assert detail["scores"][0]["value"] == 0.5


def test_spans_of_a_live_trace_are_sent_without_a_flush(client: Spoor) -> None:
    with client.trace("long", live=True) as trace:
        with trace.span("first"):
            pass
        waiting = threading.Event()
        for _ in range(100):
            waiting.wait(0.05)
            try:
                if client.traces.get(trace.id)["spans"]:
                    return
            except Exception:
                continue
    pytest.fail("the span is not there after 5 s")


def test_values_are_recorded_as_they_were_when_passed(client: Spoor, read: Read) -> None:
    messages = [{"role": "user", "content": "hello"}]
    with client.trace("t", input=messages) as trace:
        messages.append({"role": "assistant", "content": "later"})
    assert read(trace)["trace"]["input"] == [{"role": "user", "content": "hello"}]


def test_redaction_reaches_everything_that_is_recorded(server: Any, tag: str) -> None:
    def redact(key: str, value: Any) -> Any:
        return value.replace("secret", "[gone]") if isinstance(value, str) else value

    client = Spoor(server.url, server.key, spool=False, redact=redact)
    with client.trace("t", tags=[tag], input="secret", metadata={"m": "secret"}) as trace:
        with trace.span("s", input=["secret", {"deep": "secret"}], attributes={"a": "secret"}) as span:
            span.add_event("e", {"x": "secret"})
        client.observe(iter_secret)()
    assert client.flush(20).is_complete
    detail = json.dumps(client.traces.get(trace.id))
    assert "[gone]" in detail
    # List items have no name of their own.
    assert detail.count("secret") == detail.count('"secret", {') + detail.count("iter_secret")


def test_redaction_receives_names_tags_people_models_and_scores(server: Any, tag: str) -> None:
    names: set[str] = set()

    def redact(key: str, value: Any) -> Any:
        if isinstance(value, str) and "SECRET" in value:
            names.add(key)
            return value.replace("SECRET", "***") if key == "tag" else 7
        return value

    client = Spoor(server.url, server.key, spool=False, redact=redact)
    about: Any = {"session_id": "SECRET s", "user_id": "SECRET u", "tags": [tag, "SECRET t"]}
    with client.trace("SECRET name", **about) as trace:
        with trace.span("SECRET span", model="SECRET m") as span:
            span.add_event("SECRET event", {"SECRET key": 1})
        span.set_attributes({"SECRET key": 1})
        trace.score("quality", "SECRET value", "SECRET comment")
    client.score(trace.id, "later", "SECRET value", "SECRET comment")
    assert client.flush(20).is_complete
    detail = client.traces.get(trace.id)
    assert "SECRET" not in json.dumps(detail)
    stored = detail["trace"]
    assert (stored["name"], stored["sessionId"], stored["userId"]) == ("[redacted]",) * 3
    assert stored["tags"] == [tag, "*** t"]
    (span_stored,) = detail["spans"]
    assert (span_stored["name"], span_stored["model"], span_stored["events"][0]["name"]) == ("[redacted]",) * 3
    assert {(score["name"], score["value"], score["comment"]) for score in detail["scores"]} == {
        ("quality", "[redacted]", "[redacted]"),
        ("later", "[redacted]", "[redacted]"),
    }
    steps = {"trace_name", "span_name", "event_name", "tag", "session_id", "user_id", "model"}
    assert names == {*steps, "score_value", "score_comment", ""}


def iter_secret() -> str:
    return "secret"


def test_names_and_tags_of_any_type_are_accepted(client: Spoor, read: Read) -> None:
    with client.trace(
        "n" * 1_000, session_id="", user_id="\x00" * 300, tags=[str(n) * 100 for n in range(30)]
    ) as trace:
        with trace.span("", kind="nonsense") as span:  # type: ignore[arg-type]
            for number in range(60):
                span.add_event(f"e{number}")
    detail = read(trace)
    assert len(detail["trace"]["name"]) == 500
    assert detail["trace"]["sessionId"] is None
    assert len(detail["trace"]["tags"]) == 20
    assert detail["spans"][0]["kind"] == "custom"
    assert [event["name"] for event in detail["spans"][0]["events"]] == [f"e{number}" for number in range(10, 60)]


def test_with_any_invalid_argument_the_application_continues_and_is_told(client: Spoor, read: Read) -> None:
    wrong: Any = object()
    with client.trace(wrong, tags=5, session_id=wrong, input=wrong, metadata="none") as trace:  # type: ignore[arg-type]
        trace.add_tags(wrong, None)  # type: ignore[arg-type]
        trace.set_metadata(wrong)
        trace.set_usage(input_tokens=wrong, cost_usd="much")  # type: ignore[arg-type]
        trace.set_status("fine")  # type: ignore[arg-type]
        trace.set_model(None)
        trace.score("not a name!", wrong)
        trace.score("s", float("nan"))
        with trace.span(wrong, kind=wrong, attributes=7) as span:  # type: ignore[arg-type]
            span.add_event(wrong, wrong)
            span.set_attributes(wrong)
            span.set_kind("tool")
            span.set_kind(wrong)
            span.end(status=wrong)
    client.score("no id", "s", 1)
    result = client.flush(20)
    assert (result.sent, result.kept) == (1, 0)
    assert len(result.problems) >= 4
    assert {lost.reason.split(":")[0] for lost in result.lost} == {"score"}
    detail = client.traces.get(trace.id)
    assert (detail["trace"]["status"], [span["kind"] for span in detail["spans"]]) == ("ok", ["tool"])
    assert detail["trace"]["model"] is None


def test_redaction_receives_the_items_of_arguments_results_and_metadata(server: Server) -> None:
    def hide(key: str, value: Any) -> Any:
        return "***" if isinstance(value, str) and "SECRET" in value else value

    client = Spoor(server.url, server.key, spool=False, redact=hide)

    @client.observe
    def join(*texts: str, **more: Any) -> list[str]:
        return ["SECRET out", *texts]

    @client.observe
    def say() -> Iterator[str]:
        # A secret may be spread over several items.
        yield from ("it is SEC", "RET")

    @client.observe
    def mix() -> Iterator[Any]:
        yield from ("SECRET", ["SECRET"], 1)

    with client.trace("lists", input=("SECRET", ["SECRET"]), metadata={"m": ["SECRET"]}) as trace:
        join("SECRET a", "b", c=["SECRET"])
        assert list(say()) == ["it is SEC", "RET"]
        assert len(list(mix())) == 3
        with client.span("s", attributes={"a": ["SECRET"]}) as span:
            span.add_event("e", {"e": ["SECRET"]})
        trace.set_output(["SECRET"])
    assert client.flush(20).is_complete
    detail = client.traces.get(trace.id)
    assert "SECRET" not in json.dumps(detail)
    joined, said, mixed, _ = detail["spans"]
    assert (joined["input"], joined["output"]) == ({"texts": ["***", "b"], "more": {"c": ["***"]}}, ["***", "***", "b"])
    assert (said["output"], mixed["output"]) == ("***", ["***", ["***"], 1])
    assert detail["trace"]["input"] == ["***", ["***"]]
    client.leave(1)
