-- Histograms of durations have finer buckets: sixteen to an octave instead of four. Stored histograms do not change. The
-- new buckets have digits of their own, before those of the old ones, in the same column (lib/rollups/latency.ts). The
-- view shows both: first the old buckets, which count the traces of before this migration, then the new ones.
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
