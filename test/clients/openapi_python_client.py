"""Uses the service through the client that openapi-python-client makes of the document."""

import os

from generated import AuthenticatedClient
from generated.api.scores import add_score
from generated.api.traces import delete_trace, get_trace, list_traces, patch_trace_metadata, record_trace
from generated.models import BooleanScoreInput, ErrorBody, IngestBody, MetadataPatch, TraceDetail

client = AuthenticatedClient(base_url=os.environ["SPOOR_URL"], token=os.environ["SPOOR_API_KEY"])
trace_id = "a4" * 16
start, end = "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:06+00:00"
span = {"id": "c" * 16, "name": "step", "startedAt": start, "endedAt": end, "attributes": {"depth": {"of": [1]}}}
trace = {"id": trace_id, "name": "generated", "startedAt": start, "endedAt": end, "metadata": {"release": "1"}}

body = IngestBody.from_dict({"schemaVersion": 1, "trace": {**trace, "spans": [span]}})
assert record_trace.sync(client=client, body=body).span_count == 1

assert list_traces.sync(client=client, name="generated").traces[0].id == trace_id

score = BooleanScoreInput.from_dict({"name": "helpful", "dataType": "boolean", "value": True})
assert add_score.sync(trace_id, client=client, body=score).score.value is True

patch = MetadataPatch.from_dict({"metadata": {"reviewed": True}})
assert patch_trace_metadata.sync(trace_id, client=client, body=patch).metadata["reviewed"] is True

detail = get_trace.sync(trace_id, client=client)
assert isinstance(detail, TraceDetail)
assert detail.trace.metadata.to_dict() == {"release": "1", "reviewed": True}
assert detail.spans[0].kind == "custom"
assert detail.trace.scores["helpful"].value is True

assert delete_trace.sync(trace_id, client=client).ok is True
missing = get_trace.sync(trace_id, client=client)
assert isinstance(missing, ErrorBody)
assert missing.error.code == "not_found"
