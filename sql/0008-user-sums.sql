-- What the traces of each user add up to by day (UTC), folded from the same news as rollups (lib/store/analytics/rollups/users.ts).

-- Null: the trace is of no user.
alter table rollup_news add column user_id text;

create table user_sums (
  project_id    int not null,
  -- The hash of the user and the environment.
  list          bigint not null,
  start         timestamptz not null,
  traces        bigint not null,
  errors        bigint not null,
  -- Traces that have a cost.
  priced        bigint not null,
  input_tokens  numeric not null,
  output_tokens numeric not null,
  -- In billionths of a dollar.
  cost          numeric not null,
  constraint user_sums_pkey primary key (project_id, list, start)
)
-- The row of today changes every few seconds, and a new version of it that finds room on its page writes to no index.
with (fillfactor = 75);
