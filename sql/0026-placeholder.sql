-- Holds the place of migration 26, which is developed apart from the following ones.
select 1;
