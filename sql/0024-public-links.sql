-- Links that show one trace to anybody who has them, until they expire or are revoked.
create table public_links (
  id         int generated always as identity constraint public_links_pkey primary key,
  project_id int not null constraint public_links_project references projects on delete cascade,
  trace_id   text not null,
  -- The trace's number. A trace that is deleted and recorded again under its id has another number.
  trace_seq  bigint not null,
  -- The SHA-256 of the link's token, in hexadecimal. The token itself is stored nowhere.
  digest     text not null constraint public_links_digest unique,
  -- The owner who made the link. Null: the user was removed.
  user_id    int constraint public_links_user references users on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index public_links_of_trace on public_links (project_id, trace_seq);
create index public_links_of_user on public_links (user_id) where user_id is not null;
