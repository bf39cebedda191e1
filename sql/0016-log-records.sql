-- Log records and metrics that came in OTLP and were not kept, counted by name. The name of a log record is that of its
-- event, or of its logger.
create table unkept_records (
  project_id int not null constraint unkept_records_project references projects on delete cascade,
  -- `logs` or `metrics`.
  signal     text not null,
  name       text not null,
  count      bigint not null,
  first_at   timestamptz not null default now(),
  last_at    timestamptz not null default now(),
  constraint unkept_records_pkey primary key (project_id, signal, name)
);

-- A row of span_messages is what a log record adds to a span. Besides messages, it can be an event of the span, and
-- hold numbers of a coding agent's call (lib/trace/span-messages.ts).
alter table span_messages add column event json;
alter table span_messages add column facts json;
-- The id of a call or tool use. The record then belongs to the span of that call, and span_id is that of the step which
-- is made from records.
alter table span_messages add column call text;
