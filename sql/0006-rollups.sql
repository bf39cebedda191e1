-- What traces add up to over time: by hour and by day, and each of these by environment, by family, by name and by kind. Only
-- traces that have ended count. Their time is started_at, as in the lists. How it is kept and read is told in
-- lib/store/analytics/rollups.

-- What is not in rollups yet. A trace that ends, comes or goes writes a row in the same transaction, a change writes one that
-- takes away and one that adds. Rows are added up, so one may stand for many traces. There is no index: the rows are few,
-- and all are read. numeric, since no sum of it overflows, and small numbers are short in it.
create table rollup_news (
  project_id    int not null,
  traces        int not null,
  errors        int not null,
  -- Traces that have a cost.
  priced        int not null,
  started_at    timestamptz not null,
  family        bigint not null,
  input_tokens  numeric not null,
  output_tokens numeric not null,
  -- In billionths of a dollar, so that sums are exact and what is taken away leaves nothing.
  cost          numeric not null,
  -- How many traces took how long: a count for each bucket of durations, each in twelve digits of its own, so that adding
  -- the numbers adds all the counts (lib/rollups/latency.ts).
  latency       numeric not null,
  name          text not null
);

create table rollups (
  project_id    int not null,
  -- What the row is of: an environment (e), a family (f), a name in an environment (n) or in a family (k); in an hour, or in a
  -- day of UTC (E, F, N, K).
  level         "char" not null,
  start         timestamptz not null,
  -- The number of that, and of the environment or the family that it is in. An hour and a day have room for so many names
  -- (lib/rollups/room.ts); the others are counted under the number of the environment or the family.
  list          bigint not null,
  within        bigint not null,
  traces        bigint not null,
  errors        bigint not null,
  priced        bigint not null,
  -- A sum that no bigint holds stays at 9 * 10^18: bigints are added up much faster than numerics.
  input_tokens  bigint not null,
  output_tokens bigint not null,
  cost          bigint not null,
  latency       numeric not null,
  -- Null where the row is of no name, or of all that had no room.
  name          text,
  constraint rollups_pkey primary key (project_id, level, start, list)
)
-- Rows of the hour and of the day change every few seconds.
with (fillfactor = 60);

-- Projects that have traces of before this migration, which are counted in the background, the newest day first. What
-- started at `uncounted` or later is counted. The row goes when all is.
create table rollup_history (
  project_id int not null constraint rollup_history_pkey primary key,
  uncounted  timestamptz not null
);
insert into rollup_history (project_id, uncounted) select id, 'infinity' from projects;
