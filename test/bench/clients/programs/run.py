"""
Measures one client, as run.mjs does: `python run.py CLIENT TRACES`.
"""

import importlib
import json
import resource
import sys
import time
from pathlib import Path

client, traces = sys.argv[1], int(sys.argv[2])
SPANS = 8
EACH_FLUSH = 50
TEXT = "The customer asks where the order is, and the agent looks it up in the shop. " * 12

begun = time.perf_counter()
observe, flush = importlib.import_module(client).start()
start_ms = (time.perf_counter() - begun) * 1000

count = 0


def question():
    global count
    count += 1
    return f"m{count - 1}m {TEXT}"


@observe("step")
def step(question):
    return {"answer": f"{TEXT} {len(question)}"}


@observe("agent")
def agent(text):
    for _ in range(1, SPANS):
        step(question())
    return text


def record(number):
    for i in range(number):
        agent(question())
        # OpenTelemetry's queue holds 2,048 spans, and drops others without a word.
        if i % EACH_FLUSH == EACH_FLUSH - 1:
            flush()
    flush()


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


record(-(-traces // 4))
before = cpu_seconds()
record(traces)
cpu_micros = (cpu_seconds() - before) * 1e6 / (traces * SPANS)
pages = int(Path("/proc/self/statm").read_text().split()[1])
rss = pages * resource.getpagesize()
print(json.dumps({"cpuMicros": cpu_micros, "startMs": start_ms, "rssBytes": rss, "spans": count}))
