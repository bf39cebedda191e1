-- Which content of a trace an evaluator judged: the body_hash that the trace had. Null for scores that came otherwise, and
-- for those of an evaluator that were imported or restored: these count for whatever the trace holds.
alter table scores add column judged_hash bytea;
