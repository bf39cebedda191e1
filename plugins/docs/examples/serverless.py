"""A function that is frozen when it has answered: what it records is sent before."""

import spoor

# There is no disk that lasts, so nothing is kept there.
client = spoor.configure(flush_each=True, spool=False)


def handler(event, context):
    with client.trace("handler", input=event) as trace:
        answer = {"statusCode": 200, "body": f"Hello, {event['name']}"}
        trace.set_output(answer)
    return answer
