"""Tests the package as people install it, and the first example that they read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import spoor_client
from tests.conftest import Run, Server

ROOT = Path(__file__).parents[2]


def test_the_first_example_records_a_trace(server: Server, run: Run) -> None:
    (example, *_) = re.findall(r"```python\n(.*?)```", ROOT.joinpath("README.md").read_text(), re.S)
    result = run(example + "\nprint(spoor.flush().sent, next(spoor.traces.all(name='answer'))['id'])")
    assert result.returncode == 0, result.stderr
    said, counted = result.stdout.splitlines()
    sent, trace_id = counted.split()
    assert (said, sent) == ("You asked: Where is my order?", "1")
    from spoor_client import Spoor

    trace = Spoor(server.url, server.key, spool=False).traces.get(trace_id)["trace"]
    assert trace["input"] == {"question": "Where is my order?"}
    assert trace["output"] == "You asked: Where is my order?"


APPLICATION = """
import threading, types
import agents
from langchain_core.runnables import RunnableLambda
from openai import OpenAI

question, reply = "Where is my order?", "It is on its way."
messages = [{"role": "user", "content": question}]
chain = RunnableLambda(lambda text: text)
url, event, request = "/", threading.Event(), types.SimpleNamespace()
requests = types.SimpleNamespace(post=lambda url, headers: setattr(request, "headers", headers))
event.set()
"""


def test_the_examples_run_in_order_as_written(server: Server, run: Run, provider: Any) -> None:
    """An application's own objects are defined before them, and a trace's id before the scores."""
    examples = re.findall(r"```python\n(.*?)```", ROOT.joinpath("README.md").read_text(), re.S)
    assert len(examples) == 9
    before = APPLICATION + "import spoor_client as spoor\n"
    examples[6] = "trace_id = trace.trace.id\n" + examples[6]
    # The last example is a test, which test_testing.py runs.
    program = before + "\n".join(examples[:-1]) + "\nprint(spoor.flush(20))"
    result = run(program, OPENAI_BASE_URL=f"{provider['url']}/v1", OPENAI_API_KEY="k")
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert said[0] == "You asked: Where is my order?"
    assert re.fullmatch(rf"{server.url}/app/t/[0-9a-f]{{32}}", said[1])
    assert said[2] == "1 0 1.0", "judged, failed and mean"
    assert "kept=0, lost=[]" in said[3], said
    (stored,) = server.stored("vip")
    assert (stored["name"], stored["userId"], stored["model"]) == ("support-agent", "u-2", "gpt-4o")


def test_every_test_that_the_table_names_exists() -> None:
    rows = re.findall(r"\|([^|]*test_[^|]*)\|\n", ROOT.joinpath("README.md").read_text())
    named = {file for row in rows for file in re.findall(r"`(test_\w+\.py)`", row)}
    there = {file.name for file in ROOT.joinpath("tests").rglob("test_*.py")}
    assert len(rows) > 10
    assert named - there == set()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Does the same as `python -m build`, without creating another environment."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--sdist", "--outdir", str(folder)]
    result = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_the_wheel_has_all_modules_and_no_tests(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(file.relative_to(ROOT)) for file in ROOT.joinpath("spoor_client").rglob("*.py")}
    assert modules | {"spoor_client/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "tools/"))]
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    metadata = next(name for name in names if name.endswith("METADATA"))
    text = zipfile.ZipFile(wheel).read(metadata).decode()
    assert "\nName: spoor-client\n" in text
    assert "Requires-Dist" not in text
    assert "\nProject-URL: Homepage, https://github.com/" in text


def test_the_source_distribution_has_all_modules_and_no_tests(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    modules = {str(file.relative_to(ROOT)) for file in ROOT.joinpath("spoor_client").rglob("*.py")}
    assert modules | {"spoor_client/py.typed", "pyproject.toml", "README.md", "LICENSE"} <= names
    assert not [name for name in names if name.startswith(("tests", "tools/"))]


def test_the_packages_are_accepted_by_pypi(built: Path) -> None:
    packages = [str(file) for file in built.iterdir() if file.suffix in (".whl", ".gz")]
    assert len(packages) == 2
    result = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *packages], capture_output=True)
    assert result.returncode == 0, result.stdout.decode()


def test_the_version_equals_the_server_version() -> None:
    """Python writes 1.0.0-rc.1 as 1.0.0rc1, and so does the release workflow."""
    version = json.loads((ROOT.parents[1] / "package.json").read_text())["version"]
    assert spoor_client.__version__ == version.replace("-rc.", "rc")


def test_the_readme_has_no_links_that_work_only_in_a_repository() -> None:
    assert re.findall(r"\]\((?!https?:)", ROOT.joinpath("README.md").read_text()) == []


@pytest.mark.long
def test_the_readme_in_a_fresh_environment(server: Server, built: Path, tmp_path: Path, tag: str) -> None:
    (wheel,) = built.glob("*.whl")
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", str(wheel)], check=True)
    (example, *_) = re.findall(r"```python\n(.*?)```", ROOT.joinpath("README.md").read_text(), re.S)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (tmp_path / "example.py").write_text(example + "\nassert spoor.flush().sent == 1\n")
    result = subprocess.run([python, "example.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "You asked: Where is my order?\n"), result.stderr


@pytest.mark.long
def test_pyright_finds_nothing() -> None:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_the_modules_have_no_import_cycles() -> None:
    """Each module can be imported first. Imports for types alone count as well."""
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in ROOT.joinpath("spoor_client").rglob("*.py")
        if file.name != "__init__.py"
    ]
    imports = {module: set(_imports(module)) & set(modules) for module in modules}
    done: set[str] = set()
    while ready := {module for module in modules if module not in done and imports[module] <= done}:
        done |= ready
    assert sorted(set(modules) - done) == []


def _imports(module: str) -> list[str]:
    text = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text()
    package = module.split(".")[:-1]
    found = []
    for dots, name, given in re.findall(r"^ *from (\.+)([\w.]*) import (.*(?:\n {4}.*)*)", text, re.M):
        base = package[: len(package) - len(dots) + 1]
        target = [*base, *name.split(".")] if name else base
        found.append(".".join(target))
        found += [".".join([*target, each]) for each in re.findall(r"\w+", given)]
    return found
