"""Tests the helpers with which applications test what they record."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import spoor_client as spoor
from spoor_client.testing import recorded
from tests.conftest import Run


@spoor.observe
def answer(question: str) -> str:
    with spoor.span("model", kind="llm", model="m", input=question) as span:
        span.set_usage(input_tokens=2, output_tokens=1)
        span.set_output("soon")
        with spoor.span("tool", kind="tool"):
            assert "traceparent" in spoor.headers()
    current = spoor.current()
    assert current is not None
    current.score("polite", True)
    return "soon"


def test_traces_are_kept_in_memory() -> None:
    before = spoor.default._client
    with recorded() as traces:
        answer("when?")
        with spoor.trace("live", live=True, tags=["a"], session_id="s", user_id="u") as trace:
            for _ in range(300):
                trace.start_span("step").end()
            trace.set_metadata({"release": 1})
    assert spoor.default._client is before
    trace_of_answer = traces.one("answer")
    assert (trace_of_answer.input, trace_of_answer.output) == ({"question": "when?"}, "soon")
    assert (trace_of_answer.status, trace_of_answer.scores) == ("ok", {"polite": True})
    model = trace_of_answer.span("model")
    assert (model.kind, model.model, model.usage["inputTokens"], model.parent) == ("llm", "m", 2, None)
    assert trace_of_answer.span("tool").parent == "model"
    live = traces.one("live")
    assert (live.tags, live.session_id, live.user_id, live.metadata) == (["a"], "s", "u", {"release": 1})
    assert (len(live.spans), traces.problems) == (300, [])


def test_a_missing_name_is_reported_with_the_existing_ones() -> None:
    with recorded() as traces:
        answer("when?")
    with pytest.raises(AssertionError, match="0 traces are called 'anser'; recorded: answer"):
        traces.one("anser")


def test_pytest_has_the_fixture(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_application.py").write_text(
        textwrap.dedent(
            """
            import spoor_client as spoor

            def test_answer(spoor_traces):
                with spoor.trace("t"):
                    pass
                assert spoor_traces.one("t").status == "ok"
            """
        )
    )
    plugin = "spoor_client.pytest_plugin"
    result = run(f"import pytest, sys; sys.exit(pytest.main(['-q', '-p', '{plugin}', 'test_application.py']))")
    assert result.returncode == 0, result.stdout
    assert not (tmp_path / ".spoor").exists()
