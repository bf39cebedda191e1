-- Who somebody is at a provider of OpenID Connect. A provider's subject is never given to anybody else; an e-mail address may be.
create table oidc_identities (
  issuer    text not null,
  subject   text not null,
  user_id   int not null constraint oidc_identities_user references users on delete cascade,
  linked_at timestamptz not null default now(),
  constraint oidc_identities_pkey primary key (issuer, subject)
);
create index oidc_identities_of_user on oidc_identities (user_id);

-- Until then the next identity with this user's e-mail address is linked to the user without proof of the address. Set only
-- for people who signed in by a provider before identities were stored; null once an identity is linked.
alter table users add column oidc_email_until timestamptz;
update users u set oidc_email_until = now() + interval '90 days'
  where exists (select from memberships m where m.user_id = u.id and m.by_claim)
    or exists (select from web_sessions s where s.user_id = u.id and s.means = 'oidc')
    or u.id in (select a.user_id from audit a where a.action = 'sign-in' and a.detail->>'means' = 'oidc');

-- When the person last proved who they are; null if nobody knows, as with a provider that does not say.
alter table web_sessions add column proven_at timestamptz;

-- Attempts that are over are found without looking through all of them.
create index sign_in_attempts_until on sign_in_attempts (until);
