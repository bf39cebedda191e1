-- The texts of spans may be stored compressed (0001 says how). Rows that are there stay as they are. A server of before would
-- show such texts as absent: stop it first.
alter table spans add column if not exists packed bytea;
-- PostgreSQL need not try to compress them again.
alter table spans alter column packed set storage external;
