-- Second factors of people who sign in with a password: codes of an authenticator app (TOTP), and recovery codes.
create table second_factors (
  user_id      int constraint second_factors_pkey primary key
               constraint second_factors_user references users on delete cascade,
  -- The secret that the app shares, encrypted with a key derived from KEY_DIGEST_SECRET (lib/people/factors/sealed.ts).
  secret       text not null,
  created_at   timestamptz not null default now(),
  -- Null until the user has shown a code of the app. Until then, signing in requires no code.
  confirmed_at timestamptz,
  -- The step of time whose code was used last. A code works once.
  last_step    bigint,
  -- The SHA-256 of each unused recovery code, in hexadecimal.
  recovery     text[] not null default '{}'
);
-- Whether people who sign in with a password need a second factor to see the account's projects.
alter table accounts add column requires_factor boolean not null default false;

-- When a session ends even if it is used, so that a sign-in provider is asked again; null: 90 days after it began.
alter table web_sessions add column ends_at timestamptz;
update web_sessions set ends_at = now() + interval '1 day', expires_at = least(expires_at, now() + interval '1 day')
  where means = 'oidc';
