"""A server (WSGI, as Flask and Django are): each request is a trace, part of the caller's if it names one."""

import spoor

spoor.configure(on_problem=print)


def app(environ, start_response):
    parent = spoor.from_headers(environ)
    with spoor.trace("request", parent=parent, input=environ["PATH_INFO"], user_id=environ.get("HTTP_X_USER")) as trace:
        answer = reply(environ["PATH_INFO"])
        trace.set_output(answer)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [answer.encode()]


@spoor.observe(kind="chain")
def reply(path):
    return f"You asked for {path}"
