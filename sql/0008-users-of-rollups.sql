-- What the traces of each user add up to: a level u of rollups, a day (UTC) by user_family of traces, without latency. A
-- server of the version before writes no news, so history is counted by rollup_history as it is without this.

-- Null: the trace is of no user.
alter table rollup_news add column user_family bigint;

-- All days of some users: the key has the days first.
create index rollups_of_user on rollups (project_id, list, start) where level = 'u';
