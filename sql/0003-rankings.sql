--! no-transaction
-- Of long lists, only the top is kept in the indexes of the slowest and costliest (0001 says how). Nothing happens where 0001
-- made the tables as they are today. The indexes are built beside the old ones, while the service goes on.
alter table traces add column if not exists ranked smallint not null default 15;
alter table trace_tags add column if not exists ranked smallint not null default 15;
create table if not exists ranking_floors (
  project_id  int not null,
  list        bigint not null,
  duration_ms bigint,
  cost_usd    float8,
  constraint ranking_floors_pkey primary key (project_id, list)
);
create index concurrently if not exists traces_slowest on traces (project_id, duration_ms, id) where duration_ms is not null;
create index concurrently if not exists traces_costliest on traces (project_id, cost_usd, id) where cost_usd is not null;
create index concurrently if not exists traces_slowest_of_family on traces (project_id, family, duration_ms, id) where duration_ms is not null and (ranked & 1) <> 0;
drop index concurrently if exists traces_of_family_slowest;
create index concurrently if not exists traces_costliest_of_family on traces (project_id, family, cost_usd, id) where cost_usd is not null and (ranked & 2) <> 0;
drop index concurrently if exists traces_of_family_costliest;
create index concurrently if not exists traces_slowest_of_kind on traces (project_id, kind, duration_ms, id) where duration_ms is not null and (ranked & 4) <> 0;
drop index concurrently if exists traces_of_kind_slowest;
create index concurrently if not exists traces_costliest_of_kind on traces (project_id, kind, cost_usd, id) where cost_usd is not null and (ranked & 8) <> 0;
drop index concurrently if exists traces_of_kind_costliest;
create index concurrently if not exists tags_slowest_of_family on trace_tags (project_id, tag_family, duration_ms, id) where duration_ms is not null and (ranked & 1) <> 0;
drop index concurrently if exists tags_of_family_slowest;
create index concurrently if not exists tags_costliest_of_family on trace_tags (project_id, tag_family, cost_usd, id) where cost_usd is not null and (ranked & 2) <> 0;
drop index concurrently if exists tags_of_family_costliest;
create index concurrently if not exists tags_slowest_of_kind on trace_tags (project_id, tag_kind, duration_ms, id) where duration_ms is not null and (ranked & 4) <> 0;
drop index concurrently if exists tags_of_kind_slowest;
create index concurrently if not exists tags_costliest_of_kind on trace_tags (project_id, tag_kind, cost_usd, id) where cost_usd is not null and (ranked & 8) <> 0;
drop index concurrently if exists tags_of_kind_costliest;
