-- Long times are added up from fewer rows: rollups have a level of fortnights as well, 14 days from 1 January 2000 on, of what
-- days have: of an environment (1), a family (2), a name in an environment (3) and in a family (4). A fortnight is made from
-- its days when it is over (lib/store/analytics/rollups/fortnights.ts), all four levels at once, and goes when a day of it
-- changes: where it is missing, its days are read.

-- Readers look for the rows of an environment or a family in a time, and for those of one name in it; folds and recounts for
-- the rows of an hour or a day.
alter table rollups drop constraint rollups_pkey,
  add constraint rollups_pkey primary key (project_id, level, within, start, list);
create index rollups_start on rollups (project_id, level, start);
