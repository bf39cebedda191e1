-- Rollups for people to read. rollups.latency holds a histogram as one number, in which each bucket of durations has
-- twelve decimal digits (lib/rollups/latency.ts). This view has a row for each bucket with any traces. The service does
-- not read it. Name the project and a time, since the view reads every rollup otherwise:
--   select * from rollup_latencies where project_id = 1 and length = 'day' and grouped_by = 'environment'
--     and start >= '2026-03-01' order by start, from_ms;
create view rollup_latencies as
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
  select row_number() over (order by from_ms) - 1 as bucket, from_ms, lead(from_ms) over (order by from_ms) as to_ms
  from (
    select 0::bigint as from_ms union select ceil(2 ^ (step / 4.0::float8))::bigint from generate_series(0, 108) as step
  ) bounds
) b
cross join lateral (
  select mod(div(r.latency, ('1e' || 12 * b.bucket)::numeric), 1e12)::bigint as traces
) h
where h.traces <> 0;
