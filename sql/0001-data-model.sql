-- The data model of spoor. Read this file to know what is stored.
--
-- An account owns projects. A project has API keys and holds traces. A trace is one run of an AI application, made of
-- spans (steps), and may carry scores (verdicts given after the run).
--
-- project_id comes first in every key, index and condition of the three large tables: that keeps tenants apart by
-- construction, and lets the same tables be distributed by project when one machine is outgrown.

create table accounts (
  id         int generated always as identity constraint accounts_pkey primary key,
  name       text not null,
  type       text not null default 'owner' constraint accounts_type check (type in ('owner', 'trial')),
  -- Traces charged to a trial account. Deleting a trace gives nothing back.
  trial_used bigint not null default 0,
  created_at timestamptz not null default now()
);

create table projects (
  id            int generated always as identity constraint projects_pkey primary key,
  account_id    int not null constraint projects_account references accounts,
  name          text not null,
  slug          text not null constraint projects_slug unique,
  description   text not null default '',
  -- Bytes; null means the server's STORAGE_LIMIT_BYTES.
  storage_limit bigint,
  created_at    timestamptz not null default now()
);

create table api_keys (
  id           text constraint api_keys_pkey primary key,
  project_id   int not null constraint api_keys_project references projects,
  label        text not null default '',
  -- Null: a key from before scopes existed, which means traces:write only.
  scopes       text[],
  -- Null: traces recorded with this key are unassigned.
  environment  text,
  -- HMAC-SHA256 of the secret under KEY_DIGEST_SECRET. The secret itself is stored nowhere.
  digest       bytea not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
-- `spoor key list --project`.
create index api_keys_of_project on api_keys (project_id);

-- Numbers for traces.seq and traces.version. Each server process takes them in blocks of 256 (the increment), so a row's
-- number is known before the row is written.
create sequence trace_numbers as bigint increment by 256;

create table traces (
  project_id          int not null,
  span_count          int not null,
  error_count         int not null,
  score_count         int not null default 0,
  -- The inner key: spans and scores refer to (project_id, seq), so that their indexes grow at the right-hand edge.
  seq                 bigint not null,
  -- A fresh number of trace_numbers at every change: the guard of compare and set, and the proof of who changed it last.
  version             bigint not null,
  started_at          timestamptz not null,
  -- Null: the trace is running, and its status is 'running'.
  ended_at            timestamptz,
  duration_ms         bigint,
  -- Null only for an imported trace that had none.
  ingested_at         timestamptz,
  metadata_updated_at timestamptz,
  -- Usage as the client sent it: a token count that was not sent is null.
  input_tokens        bigint,
  output_tokens       bigint,
  total_tokens        bigint,
  cost_usd            float8,
  -- UTF-8 bytes of the trace document (its fields without spans), and of that together with its spans' documents.
  document_bytes      int not null,
  -- In which rankings the trace is kept, in bits (lib/store/rankings/rankings.ts).
  ranked              smallint not null default 15,
  estimated_bytes     bigint not null,
  -- The outer key: the client's 32 hexadecimal digits.
  id                  uuid not null,
  name                text not null,
  status              text not null,
  -- 'unassigned' where the recording key had none (the name is reserved); null where it was never recorded (history).
  environment         text,
  provider            text,
  model               text,
  session_id          text,
  user_id             text,
  -- The key that recorded the trace; null for traces imported without one.
  key_id              text,
  -- Null: no tags.
  tags                text[],
  -- SHA-256 of the canonical body that started the trace, and of the end body that ended it. Of a trace that OpenTelemetry
  -- recorded, for which there is no body: its spans' hashes, exclusive-or.
  body_hash           bytea not null,
  end_hash            bytea,
  -- Set where OpenTelemetry recorded the trace: the rank of the span that each field was taken from, which a span of a
  -- better rank takes over when it comes (lib/trace/states/gathered.ts).
  ranks               json,
  -- Free JSON is json, not jsonb: it keeps U+0000, key order and numbers as they were written. Null stands for the
  -- JSON value null in input and output, and for {} in metadata.
  input               json,
  output              json,
  metadata            json,
  -- Numbers of the lists that the trace is in (lib/rows/list-numbers.ts). The family stands for status, environment and
  -- model together, and trace_families says which families there are; the named family for the family and the name; the last two
  -- for these and the user.
  family              bigint not null,
  named_family        bigint not null,
  user_family         bigint,
  user_named_family   bigint,
  constraint traces_pkey primary key (project_id, seq),
  constraint traces_id unique (project_id, id)
)
-- Room on each page for new versions of running traces: an append that finds some writes to no index. With 128 clients that
-- stream typical traces 74 % do, 54 % with 85 in place of 75 (PostgreSQL's CPU 9 % more, its log 5 %, the disk that such a
-- trace takes 3.5 %), and 32 % where pages are full (64 clients). One that is recorded whole takes 2 % more disk than there
-- (typical), 8 % (small). With 65, CPU is 2 % less, and disk 1 % and 3 % more.
with (fillfactor = 75);
-- The indexes of the trace list; lib/store/lists/trace-merge.ts says how they are used. What each costs is measured alone, on a
-- busy machine, into an index of a million traces in batches of 64 (PostgreSQL 18): us of its CPU, and bytes on disk; 30
-- to 240 bytes of its log besides. (A trace without them takes 8 us. Those by cost are low since 30 % have one. Those of users
-- and tags were measured with the texts in their keys; numbers in place of these take 34 us less for a small trace with two
-- tags, all together.)
--
-- The newest, and which families are frequent among them: 2 us, 59 bytes. The slowest and costliest without filters, and
-- deep in those with filters, were not measured alone.
create index traces_newest on traces (project_id, started_at, id) include (family);
create index traces_slowest on traces (project_id, duration_ms, id) where duration_ms is not null;
create index traces_costliest on traces (project_id, cost_usd, id) where cost_usd is not null;
-- Filters by status, environment and model: the families that match are merged. 3, 12 and 3 us; 60, 57 and 17 bytes. The
-- slowest and costliest are rankings, and of a long list only its top is kept (ranking_floors).
create index traces_of_family_newest on traces (project_id, family, started_at, id);
create index traces_slowest_of_family on traces (project_id, family, duration_ms, id)
  where duration_ms is not null and (ranked & 1) <> 0;
create index traces_costliest_of_family on traces (project_id, family, cost_usd, id)
  where cost_usd is not null and (ranked & 2) <> 0;
-- The same with a filter by name: the named families are merged that the name makes with those families. 8, 13 and 5 us; 60, 57
-- and 17 bytes.
create index traces_of_named_family_newest on traces (project_id, named_family, started_at, id);
create index traces_slowest_of_named_family on traces (project_id, named_family, duration_ms, id)
  where duration_ms is not null and (ranked & 4) <> 0;
create index traces_costliest_of_named_family on traces (project_id, named_family, cost_usd, id)
  where cost_usd is not null and (ranked & 8) <> 0;
-- The traces of a user, which are families and named families as well, newest first: 16 us and 59 bytes each.
create index traces_of_user_family on traces (project_id, user_family, started_at, id) where user_family is not null;
create index traces_of_user_named_family on traces (project_id, user_named_family, started_at, id) where user_named_family is not null;
-- The traces of a session, newest first: 11 us, 69 bytes. It is a conversation: other filters look at each of its traces.
create index traces_of_session on traces (project_id, session_id, started_at, id) where session_id is not null;
-- lastTraceAt of a project: 3 us, 32 bytes.
create index traces_last_ingested on traces (project_id, ingested_at);

-- The families of traces that a project has, or once had: from filters to the numbers in traces.family.
create table trace_families (
  project_id  int not null,
  family      bigint not null,
  status      text not null,
  environment text,
  model       text,
  constraint trace_families_pkey primary key (project_id, family)
);

-- Where the rankings of long lists end: a trace with less than this is in the list, but need not be in its index of the
-- slowest or costliest. Floors only rise (lib/store/rankings/rankings.ts).
create table ranking_floors (
  project_id  int not null,
  list        bigint not null,
  -- Null: everything is ranked.
  duration_ms bigint,
  cost_usd    float8,
  constraint ranking_floors_pkey primary key (project_id, list)
);

-- A row for each tag of each trace, written and deleted in the statement that does so with the trace. (A GIN index on
-- traces.tags has no order, and gives all that match or nothing.)
create table trace_tags (
  project_id       int not null,
  -- As of traces, of the tag's own rankings.
  ranked           smallint not null default 15,
  named_family     bigint not null,
  family           bigint not null,
  started_at       timestamptz not null,
  duration_ms      bigint,
  cost_usd         float8,
  id               uuid not null,
  -- A tag in a family, in a named family, and of a user in a family, each as one number: what the indexes below begin with.
  tag_family       bigint not null,
  tag_named_family bigint not null,
  tag_user         bigint,
  user_id          text,
  tag              text not null
);
-- The filter by tag, alone and with others: as of traces, and of a user's. 11, 9 and 5 us by family, 12, 9 and 3 by named family,
-- 10 by user, for each tag; 60, 57, 18, 60, 57, 18 and 67 bytes.
create index tags_of_family_newest on trace_tags (project_id, tag_family, started_at, id);
create index tags_slowest_of_family on trace_tags (project_id, tag_family, duration_ms, id)
  where duration_ms is not null and (ranked & 1) <> 0;
create index tags_costliest_of_family on trace_tags (project_id, tag_family, cost_usd, id)
  where cost_usd is not null and (ranked & 2) <> 0;
create index tags_of_named_family_newest on trace_tags (project_id, tag_named_family, started_at, id);
create index tags_slowest_of_named_family on trace_tags (project_id, tag_named_family, duration_ms, id)
  where duration_ms is not null and (ranked & 4) <> 0;
create index tags_costliest_of_named_family on trace_tags (project_id, tag_named_family, cost_usd, id)
  where cost_usd is not null and (ranked & 8) <> 0;
create index tags_of_user on trace_tags (project_id, tag_user, started_at, id) include (named_family) where tag_user is not null;

-- Columns stand by their alignment: in front of the int, 4 bytes of each row would be lost.
create table spans (
  trace_seq     bigint not null,
  started_at    timestamptz not null,
  ended_at      timestamptz not null,
  -- As sent; all three null: recorded without usage.
  input_tokens  bigint,
  output_tokens bigint,
  total_tokens  bigint,
  cost_usd      float8,
  project_id    int not null,
  -- 8 bytes: the client's 16 hexadecimal digits.
  id            bytea not null,
  parent_id     bytea,
  -- The first 128 bits of the SHA-256 of the span's canonical document (once all of it).
  hash          bytea not null,
  name          text not null,
  kind          text not null,
  status        text not null,
  provider      text,
  model         text,
  -- Null stands for null in input and output, for {} in attributes and for [] in events.
  input         json,
  output        json,
  attributes    json,
  events        json,
  -- Where there was time to compress them, the four of all spans that came together: each row has a slice of that here, and null
  -- in the four (lib/rows/packed-texts.ts). `spoor export` shows them as they were sent.
  packed        bytea,
  constraint spans_pkey primary key (project_id, trace_seq, id)
)
-- Rows of up to half a page (8 kB) stay as they are: 2 kB, from which on PostgreSQL would compress them, are too few. pglz
-- keeps only what loses a quarter: none of 512 values of prose of 0.7 to 1 kB, all of 7 kB. Trying took a third of its CPU for
-- a typical trace (8 spans of 2 kB; 438 us, now 286) and a fifth for a large one (spans of 8 kB; 47.8 ms, now 37.1), beside
-- what is moved out of the row when nothing was gained. It takes 11 % more disk where three such rows fit on a page (2,040
-- to 2,700 bytes) in place of four; a large trace takes 4 % less. lz4 gains nothing on such rows either.
with (toast_tuple_target = 4080);

-- Breaks ties between scores made at the same moment: insertion order.
create sequence score_numbers as bigint;

create table scores (
  project_id   int not null,
  trace_seq    bigint not null,
  seq          bigint not null default nextval('score_numbers'),
  created_at   timestamptz not null default now(),
  id           bytea not null,
  span_id      bytea,
  name         text not null,
  data_type    text not null,
  -- A JSON number, string or boolean, as data_type says.
  value        json not null,
  comment      text,
  -- api, annotation or eval.
  source       text not null,
  evaluator_id text,
  run_id       text,
  constraint scores_pkey primary key (project_id, trace_seq, seq)
);
-- The project's list of scores, whole and by name, newest first.
create index scores_newest on scores (project_id, created_at, seq);
create index scores_by_name on scores (project_id, name, created_at, seq);

-- A project's counters, in a few slots each, summed on reading, so that writers do not queue for one row.
create table project_totals (
  project_id int not null,
  slot       smallint not null,
  traces     bigint not null,
  spans      bigint not null,
  bytes      bigint not null,
  constraint project_totals_pkey primary key (project_id, slot)
);

-- lz4 for free JSON where the server was built with it: less than half of pglz's CPU on large rows.
do $$
begin
  alter table traces alter input set compression lz4, alter output set compression lz4, alter metadata set compression lz4;
  alter table spans alter input set compression lz4, alter output set compression lz4,
    alter attributes set compression lz4, alter events set compression lz4;
exception when feature_not_supported then
  null;
end
$$;
