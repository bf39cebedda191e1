-- This number is reserved for another change, whose file replaces this one.
select 1;
