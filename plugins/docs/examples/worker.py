"""A worker that takes jobs from a queue, two at a time, and stops on SIGTERM."""

import queue
import signal
import threading

import spoor_client as spoor

jobs = queue.Queue()
stopping = threading.Event()


def submit(number, text):
    """Adds the current step's `traceparent`, with which the job joins that trace."""
    jobs.put({"id": number, "text": text, **spoor.headers()})


@spoor.observe(kind="chain")
def summarise(text):
    if not text:
        raise ValueError("there is nothing to summarise")
    return text.partition(".")[0] + "."


def work(job):
    parent, text = spoor.from_headers(job), job["text"]
    with spoor.trace("job", parent=parent, input=text, tags=["worker"]) as trace:
        trace.set_metadata({"job": job["id"]})
        trace.set_output(summarise(text))


def take_jobs():
    while not stopping.is_set():
        try:
            job = jobs.get(timeout=0.1)
        except queue.Empty:
            continue
        try:
            work(job)
        except Exception as error:
            # The job's trace has recorded the error, and the worker continues.
            print(f"failed: {job['id']}: {error}")


def main():
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    threads = [threading.Thread(target=take_jobs) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # When the process ends, the client sends its traces or keeps them on disk.


if __name__ == "__main__":
    main()
