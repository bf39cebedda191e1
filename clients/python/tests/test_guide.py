"""The examples of the guide's section about this client run as the server shows them, one after the other."""

from __future__ import annotations

import html
import json
import re
import urllib.request
from typing import Any

from spoor import Spoor
from tests.conftest import Run, Server

#: Each has names of its own, as programs have.
PROGRAM = """
import json, sys
for example in json.load(sys.stdin):
    exec(compile(example, "example", "exec"), {"__name__": "__main__"})
    print("--")
"""


def test_the_guides_examples(server: Server, run: Run, client: Spoor, provider: Any) -> None:
    with urllib.request.urlopen(f"{server.url}/docs") as response:
        page = response.read().decode()
    section = page.partition('<section id="client-python">')[2].partition("</section>")[0]
    examples = [html.unescape(each) for each in re.findall(r'<code data-language="python">(.*?)</code>', section, re.S)]
    assert max(len(line) for example in examples for line in example.splitlines()) <= 88
    models = {
        "OPENAI_BASE_URL": f"{provider['url']}/v1",
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": provider["url"],
        "ANTHROPIC_API_KEY": "none",
    }
    result = run(PROGRAM, stdin=json.dumps(examples), **models)
    assert (result.returncode, result.stderr) == (0, "")
    functions, more, said, services, read, end = result.stdout.split("--\n")
    assert functions == "Where is my order?\nan order\n"
    assert more == "2 0 [] []\n"
    assert said == f"{provider['answer']}\n" * 2
    assert services == "True\n"
    assert read.splitlines()[:2] == ["support-agent ok True", "['search', 'model']"]
    assert (read.splitlines()[-1], end) == ("0 1.0", "")
    stored = client.traces.list(limit=200)["traces"]
    assert {"answer", "two opinions", "front", "support-agent"} <= {trace["name"] for trace in stored}
    (opinions, *_) = [trace for trace in stored if trace["name"] == "two opinions"]
    assert opinions["usage"]["totalTokens"] == 2 * provider["chatUsage"]["total"]
