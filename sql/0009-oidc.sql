-- Roles that an OpenID Connect provider gives, by what it says of people when they sign in. One that it gave it changes and
-- takes away with the next sign-in; one that was given by hand stays.

alter table memberships add column by_claim boolean not null default false;
