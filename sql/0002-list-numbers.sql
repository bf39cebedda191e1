-- The numbers of lists were generated columns; they are written with the row now (lib/rows/list-numbers.ts), which takes
-- PostgreSQL less. Their values stay. Nothing happens where 0001 made them as they are today. A server of before
-- cannot write then: stop it first.
alter table traces
  alter family drop expression if exists,
  alter kind drop expression if exists,
  alter user_family drop expression if exists,
  alter user_kind drop expression if exists;
alter table trace_tags
  alter tag_family drop expression if exists,
  alter tag_kind drop expression if exists,
  alter tag_user drop expression if exists;
