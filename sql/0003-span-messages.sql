-- Messages of model calls that came as log records in OTLP. They are shown as input and output of the span that they name,
-- whichever of the two comes first (lib/store/trace/messages.ts). The span itself stays as it was sent, so that it is known when
-- it is sent again.

create table span_messages (
  project_id  int not null,
  place       int not null,
  micros      bigint not null,
  received_at timestamptz not null default now(),
  -- Whether the span may still have to come. What waits too long is deleted.
  waits       boolean not null default true,
  trace_id    uuid not null,
  span_id     bytea not null,
  -- The first 128 bits of the SHA-256 of what the record says. A record that is sent again has the same.
  digest      bytea not null,
  -- JSON arrays, or null.
  input       json,
  output      json,
  constraint span_messages_pkey primary key (project_id, trace_id, span_id, digest)
);
create index span_messages_waiting on span_messages (received_at) where waits;
