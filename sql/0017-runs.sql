--! no-transaction
-- Whether a trace is a run: whether it has a model call, agent, tool or retriever (lib/trace/runs.ts). True for traces
-- from before this migration until they are looked at in the background, and for those of servers that do not know the
-- column: a list of runs may show too much, and never too little. PostgreSQL keeps this default beside the table, so
-- adding the column rewrites no row.
alter table traces add column if not exists is_run boolean not null default true;

-- Traces of the project with a seq below this number are from before this migration and not looked at yet, the newest
-- first. Null if all are.
alter table projects add column if not exists runs_below bigint;
update projects set runs_below = 9007199254740991;

-- The newest runs. Where one trace in a hundred is a run, a page of the newest runs would be found among thousands of
-- traces otherwise (test/bench/RESULTS.md, "Runs among other traces").
create index concurrently if not exists traces_of_runs on traces (project_id, started_at, id) where is_run;
