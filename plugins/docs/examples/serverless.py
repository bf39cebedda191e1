"""A function that is frozen when it finishes, so it sends its trace first."""

import spoor_client as spoor

# The function has no durable disk, so the spool is off.
client = spoor.configure(flush_each=True, spool=False)


def handler(event, context):
    with client.trace("handler", input=event) as trace:
        answer = {"statusCode": 200, "body": f"Hello, {event['name']}"}
        trace.set_output(answer)
    return answer
