-- The order of changes (lib/store/changes): which traces were written since a program last asked.

-- Writes that have no place in the order yet: the traces' internal numbers. A row is written in the transaction of its
-- writes, one for each project.
create table change_news (
  project_id int not null,
  seqs       bigint[] not null
)
-- Compressing the numbers would cost more than writing them.
with (toast_tuple_target = 8160);
create index change_news_project on change_news (project_id);

-- Writes in their order. A row gets its place after its writes are committed, so nothing is ever added before a place
-- that was read.
create table change_log (
  project_id int not null,
  place      bigint not null,
  noted_at   timestamptz not null default now(),
  seqs       bigint[] not null,
  constraint change_log_pkey primary key (project_id, place)
);

-- The last place of each project's log, and the last place that was dropped because of its age. Backups do not contain
-- the log. The id is random, so a cursor of another database is recognised.
create table change_feeds (
  project_id int not null,
  id         bigint not null,
  place      bigint not null default 0,
  dropped_to bigint not null default 0,
  constraint change_feeds_pkey primary key (project_id)
);
