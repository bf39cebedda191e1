"""A WSGI server, like Flask or Django. Each request is a trace, which joins the
caller's trace if the headers name one. Readers can score an answer."""

import json
import os
from wsgiref.simple_server import make_server

import spoor_client as spoor


@spoor.observe(kind="agent")
def answer(question):
    if not question:
        raise ValueError("there is no question")
    return f"You asked: {question}"


def questions(environ, body):
    parent, user = spoor.from_headers(environ), environ.get("HTTP_X_USER")
    with spoor.trace("question", parent=parent, input=body, user_id=user) as trace:
        text = answer(body["question"])
        trace.set_output(text)
        return "200 OK", {"text": text, "traceId": trace.id}


def feedback(environ, body):
    # The client sends the score in the background, so the reader does not wait.
    trace_id = environ["PATH_INFO"].rpartition("/")[2]
    spoor.score(trace_id, "helpful", body["helpful"] is True, body.get("comment"))
    return "202 Accepted", {}


def app(environ, start_response):
    is_feedback = environ["PATH_INFO"].startswith("/feedback/")
    try:
        size = int(environ.get("CONTENT_LENGTH") or 0)
        body = json.loads(environ["wsgi.input"].read(size))
        status, reply = (feedback if is_feedback else questions)(environ, body)
    except Exception as error:  # The trace has recorded the error.
        status, reply = "500 Internal Server Error", {"error": str(error)}
    start_response(status, [("Content-Type", "application/json")])
    return [json.dumps(reply).encode()]


if __name__ == "__main__":
    make_server("127.0.0.1", int(os.environ.get("PORT", "3000")), app).serve_forever()
