-- The audit log as a page: where each action came from, and indexes by which an account's entries are found.
-- The address of the client, as TRUST_PROXY determines it; null for commands and for entries from before.
alter table audit add column client text;
-- Every entry of a project also names the account, so that one index finds the entries of all its projects.
update audit a set account_id = p.account_id from projects p where a.project_id = p.id and a.account_id is null;
create index audit_of_account on audit (account_id, action, id) where account_id is not null;
-- Entries of projects that were restored from older backups, or written by an older server during an upgrade.
create index audit_of_project on audit (project_id, id) where account_id is null and project_id is not null;
-- What people did in no account, such as signing in.
create index audit_of_user on audit (user_id, action, id) where account_id is null and project_id is null;
-- Failed sign-ins from one client within a quarter of an hour are one entry.
create index audit_failures on audit (client, id) where action = 'sign-in.fail';
