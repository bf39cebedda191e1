-- The index of words covers errors, tool calls and metadata too. Servers of earlier versions write none of these
-- columns, so the defaults say that these texts are missing.
alter table search_segments add column texts smallint not null default 1;
-- The number of terms when a server that knows all texts wrote the row. If another server has changed the terms since
-- then, their number is another one.
alter table search_terms add column covered int not null default 0;
create index search_terms_uncovered on search_terms (project_id, seq) where covered = 0;
