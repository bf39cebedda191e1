"""A worker that takes jobs from a queue, some at a time in threads, and stops when it is told to."""

import queue
import signal

import spoor

jobs = queue.Queue()
stopping = False


def stop(*_):
    global stopping
    stopping = True


@spoor.observe(kind="tool")
def step(job):
    return job * 2


def work(job):
    # A job that fails is a trace with the status `error`; the worker goes on.
    with spoor.trace("job", input=job, tags=["worker"]) as trace, spoor.context_executor(2) as pool:
        trace.set_output(list(pool.map(step, [job, job])))


def main():
    signal.signal(signal.SIGTERM, stop)
    while not stopping:
        try:
            job = jobs.get(timeout=0.1)
        except queue.Empty:
            continue
        try:
            work(job)
        except Exception as error:
            print(f"job {job!r} failed: {error}")
    # What is not sent by the end of the process is in the spool, and the next start sends it.
