-- People who use the dashboard, and what they may do. A person is a user; a membership gives a user a role in an account,
-- and so in all its projects. None of this opens the API, for which keys are.

create table users (
  id         int generated always as identity constraint users_pkey primary key,
  -- In lower case. `owner`, made at the first start, is the only one that is no address.
  email      text not null constraint users_email unique,
  name       text not null default '',
  -- scrypt$N$r$p$salt$hash (lib/people/passwords.ts); null if the user signs in otherwise.
  password   text,
  created_at timestamptz not null default now()
);

create table memberships (
  account_id int not null constraint memberships_account references accounts,
  user_id    int not null constraint memberships_user references users on delete cascade,
  role       text not null constraint memberships_role check (role in ('viewer', 'member', 'owner')),
  created_at timestamptz not null default now(),
  constraint memberships_pkey primary key (account_id, user_id)
);
create index memberships_of_user on memberships (user_id);

-- Where somebody is signed in. A trace's session is something else.
create table web_sessions (
  -- SHA-256 of the token in the cookie. The token itself is stored nowhere.
  digest     bytea constraint web_sessions_pkey primary key,
  user_id    int not null constraint web_sessions_user references users on delete cascade,
  created_at timestamptz not null default now(),
  -- Written every five minutes at most.
  seen_at    timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The beginning of the browser's User-Agent.
  agent      text not null,
  -- link or password.
  means      text not null
);
create index web_sessions_of_user on web_sessions (user_id);

-- Links that sign somebody in, once. Those that have expired are deleted when the next one is made.
create table sign_in_links (
  -- SHA-256 of the token in the link.
  digest     bytea constraint sign_in_links_pkey primary key,
  user_id    int not null constraint sign_in_links_user references users on delete cascade,
  expires_at timestamptz not null
);
create index sign_in_links_of_user on sign_in_links (user_id);

-- Passwords that were tried, by whose and from where, so that all processes agree when it is enough.
create table sign_in_attempts (
  -- A hash of the address of the person, or of the network.
  subject  text constraint sign_in_attempts_pkey primary key,
  attempts int not null,
  -- When they are forgotten.
  until    timestamptz not null
);

-- What people did that matters later: sign-ins, deletions, changes of keys and members. Users and projects that are gone
-- stay here by their numbers.
create table audit (
  id         bigint generated always as identity constraint audit_pkey primary key,
  at         timestamptz not null default now(),
  -- Null: by a command, or by the server itself.
  user_id    int,
  account_id int,
  project_id int,
  action     text not null,
  detail     json
);

-- The user who gave the score in the dashboard; null if it came otherwise. The API does not show it.
alter table scores add column author_id int;
