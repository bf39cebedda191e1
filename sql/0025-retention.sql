-- Retention: how long a project's traces are kept. Nothing is set by default, and only `spoor retention run` deletes.
-- Null: traces are kept without limit.
alter table projects add column retention_days int;
-- Whether traces with a score are kept regardless of their age.
alter table projects add column retention_keeps_scored boolean not null default false;
-- Traces with one of these tags are kept regardless of their age.
alter table projects add column retention_keeps_tags text[] not null default '{}';
