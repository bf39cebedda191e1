-- More room on each new page of traces for what running traces become (0001 says how much it is worth). Pages that are there
-- stay as they are.
alter table traces set (fillfactor = 75);
