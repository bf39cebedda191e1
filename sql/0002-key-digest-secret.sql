-- Which KEY_DIGEST_SECRET the keys were made with, so that a server or command that was given another one is told so. The
-- first that comes makes the row. The secret itself is not stored: what is, is as slow to guess from as scrypt makes it.

create table key_digest_secret (
  -- There is one row at most.
  single      boolean not null default true constraint key_digest_secret_pkey primary key
              constraint key_digest_secret_single check (single),
  -- Random, so that two deployments with one secret cannot be told to have it.
  salt        bytea not null,
  -- scrypt of the secret and the salt (lib/access/digest-secret.ts).
  fingerprint bytea not null,
  made_at     timestamptz not null default now()
);
