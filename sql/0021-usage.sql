-- Histograms of durations have finer buckets: sixteen to an octave instead of four. Stored histograms do not change.
-- The new buckets have digits of their own, before those of the old ones, in the same column
-- (lib/rollups/latency.ts). The view shows both: first the old buckets, which count traces from before this
-- migration, then the new ones.
create or replace view rollup_latencies as
select
  r.project_id,
  case when r.level in ('e', 'f', 'n', 'k') then 'hour' when r.level in ('E', 'F', 'N', 'K') then 'day'
    else 'fortnight' end as length,
  case when r.level in ('e', 'E', '1') then 'environment' when r.level in ('f', 'F', '2') then 'family'
    when r.level in ('n', 'N', '3') then 'name in environment' else 'name in family' end as grouped_by,
  r.start,
  r.within,
  r.name,
  -- A bucket has the durations from from_ms to below to_ms. The last bucket has no end.
  b.from_ms,
  b.to_ms,
  h.traces
from rollups r
cross join (
  select row_number() over (order by steps, from_ms) - 1 as bucket, from_ms,
    lead(from_ms) over (partition by steps order by from_ms) as to_ms
  from (
    select s.steps, 0::bigint as from_ms from (values (4), (16)) s (steps)
    union
    select s.steps, ceil(2 ^ (step / s.steps::float8))::bigint
    from (values (4), (16)) s (steps), generate_series(0, 27 * s.steps) as step
  ) bounds
) b
cross join lateral (
  select mod(div(r.latency, ('1e' || 12 * b.bucket)::numeric), 1e12)::bigint as traces
) h
where h.traces <> 0;

-- Sums of traces by user, by step (kind and name), and by the values of tags whose keys an owner chose, for hours and
-- days (UTC) that are over. They are computed from the traces in the background, and deleted when a trace of the hour
-- or the day changes (lib/store/analytics/usage/made-hours.ts).
create table usage_sums (
  project_id    int not null,
  -- An hour (h) or a day (d).
  length        "char" not null,
  start         timestamptz not null,
  -- user, step or tag:KEY.
  field         text not null,
  -- m: the row states that the sums are complete. g: a group. r: all groups beyond those with the most traces.
  part          "char" not null,
  list          int not null,
  traces        bigint not null default 0,
  steps         bigint not null default 0,
  errors        bigint not null default 0,
  priced        bigint not null default 0,
  input_tokens  numeric not null default 0,
  output_tokens numeric not null default 0,
  -- In billionths of a dollar: all costs, and those of traces or steps with a cost that spoor computed.
  cost          numeric not null default 0,
  computed      numeric not null default 0,
  latency       numeric not null default 0,
  kind          text,
  key           text,
  constraint usage_sums_pkey primary key (project_id, length, start, field, part, list)
);

-- The keys of tags by which usage is summed.
alter table projects add column usage_tags text[] not null default '{}';
