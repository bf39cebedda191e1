-- Repacking (lib/store/repacking): when a trace is complete and calm, its texts are packed together in the background.

-- Traces of the project with a seq up to this number were looked at.
alter table projects add column repacked_to bigint not null default 0;

-- Traces that were running, or changed, when the walk passed them. They are looked at again when they are due.
create table repack_waits (
  project_id int not null,
  seq        bigint not null,
  since      timestamptz not null default now(),
  due_at     timestamptz not null default now(),
  constraint repack_waits_pkey primary key (project_id, seq)
);
create index repack_waits_due on repack_waits (project_id, due_at);

-- Numbers of trace_numbers over time: at noted_at, all numbers drawn so far were below this one. A trace whose version
-- is below an old mark has not been written to since.
create table repack_marks (
  noted_at timestamptz not null default now() constraint repack_marks_pkey primary key,
  below    bigint not null
);
