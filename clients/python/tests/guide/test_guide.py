"""Runs the examples in the guide's section about this client one after another, as the server shows them."""

from __future__ import annotations

import contextlib
import html
import io
import re
import urllib.request
from typing import Any

import pytest

import spoor_client as spoor
from spoor_client import Spoor
from tests.conftest import Server


def test_the_guides_examples(server: Server, client: Spoor, provider: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with urllib.request.urlopen(f"{server.url}/docs/python") as response:
        page = response.read().decode()
    section = page.partition('<section id="client-python">')[2].partition("</section>")[0]
    examples = [html.unescape(each) for each in re.findall(r'<code data-language="python">(.*?)</code>', section, re.S)]
    assert max(len(line) for example in examples for line in example.splitlines()) <= 88
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider['url']}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider["url"])
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "none")
    spoor.configure(spool=False)
    said: list[str] = []
    for example in examples:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(example, "example", "exec"), {"__name__": "__main__"})
        said.append(output.getvalue())
    functions, more, models, services, read = said
    assert functions == "Where is my order?\nan order\n"
    assert more == "2 0 [] []\n"
    assert models == f"{provider['answer']}\n" * 2
    assert services == "True\n"
    assert read.splitlines()[:2] == ["support-agent ok True", "['search', 'model']"]
    assert read.splitlines()[-1] == "0 1.0"
    stored = client.traces.list(limit=200)["traces"]
    assert {"answer", "two opinions", "front", "support-agent"} <= {trace["name"] for trace in stored}
    (opinions, *_) = [trace for trace in stored if trace["name"] == "two opinions"]
    assert opinions["usage"]["totalTokens"] == 2 * provider["chatUsage"]["total"]
