-- A trace that is recorded whole accepts no further spans, so its spans need no hashes: `hash` is null in them. An
-- import, which may compare spans with stored ones, computes the hashes (lib/store/write/span-hashes.ts).
alter table spans alter column hash drop not null;
