-- The data model of spoor. Read this file to know what is stored.
--
-- An account owns projects. A project has API keys and holds traces. A trace is one run of an AI application, made of
-- spans (steps), and may carry scores (verdicts given after the run).
--
-- project_id comes first in every key, index and condition of the large tables. That keeps tenants apart by
-- construction, and allows to distribute the tables by project when one machine is no longer enough.
--
-- What each index and each setting of storage costs and gains is in test/bench/RESULTS.md, "Indexes and pages".

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
  -- Null for a key from before scopes existed, which may only write (traces:write).
  scopes       text[],
  -- Null if traces recorded with this key are unassigned.
  environment  text,
  -- HMAC-SHA256 of the secret under KEY_DIGEST_SECRET. The secret itself is stored nowhere.
  digest       bytea not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
-- Serves `spoor key list --project`.
create index api_keys_of_project on api_keys (project_id);

-- Numbers for traces.seq and traces.version. A server process takes them in blocks of 256 (the increment), so that it
-- knows the number of a row before it writes the row.
create sequence trace_numbers as bigint increment by 256;

create table traces (
  project_id          int not null,
  span_count          int not null,
  error_count         int not null,
  score_count         int not null default 0,
  -- The inner key. Spans and scores refer to (project_id, seq), so that their indexes grow at the right-hand edge only.
  seq                 bigint not null,
  -- Every change sets a new number of trace_numbers. It guards compare and set, and tells a writer whose answer was
  -- lost whether its change was committed.
  version             bigint not null,
  started_at          timestamptz not null,
  -- Null while the trace is running; its status is 'running' then.
  ended_at            timestamptz,
  duration_ms         bigint,
  -- Null only for an imported trace whose file had none.
  ingested_at         timestamptz,
  metadata_updated_at timestamptz,
  -- Usage as the client sent it: a token count that was not sent is null.
  input_tokens        bigint,
  output_tokens       bigint,
  total_tokens        bigint,
  cost_usd            float8,
  -- UTF-8 bytes of the trace document, which has no spans in it. estimated_bytes counts the documents of the spans as
  -- well.
  document_bytes      int not null,
  -- The rankings that the trace is in, as bits (lib/store/rankings/rankings.ts).
  ranked              smallint not null default 15,
  estimated_bytes     bigint not null,
  -- The outer key: the client's 32 hexadecimal digits.
  id                  uuid not null,
  name                text not null,
  status              text not null,
  -- 'unassigned' (a reserved name) if the key had none; null if the environment was never recorded, as in imported
  -- traces.
  environment         text,
  provider            text,
  model               text,
  session_id          text,
  user_id             text,
  -- The key that recorded the trace; null for traces imported without one.
  key_id              text,
  -- Null if the trace has no tags.
  tags                text[],
  -- The SHA-256 of the canonical body that started the trace, and of the end body that ended it. A trace from
  -- OpenTelemetry has no body; its body_hash is the exclusive-or of the hashes of its spans.
  body_hash           bytea not null,
  end_hash            bytea,
  -- Set only for a trace from OpenTelemetry: the rank of the span that each field was taken from. A later span with a
  -- better rank replaces the field (lib/trace/states/gathered.ts).
  ranks               json,
  -- Free JSON is json and not jsonb, because json keeps U+0000, the order of keys, and numbers as they were written.
  -- Null stands for the JSON value null in input and output, and for {} in metadata.
  input               json,
  output              json,
  metadata            json,
  -- The numbers of the lists that the trace is in (lib/rows/list-numbers.ts). The family stands for status,
  -- environment and model together; trace_families has the families of each project. The named family stands for the
  -- family and the name. The last two stand for these and the user.
  family              bigint not null,
  named_family        bigint not null,
  user_family         bigint,
  user_named_family   bigint,
  constraint traces_pkey primary key (project_id, seq),
  constraint traces_id unique (project_id, id)
)
-- A page keeps room for new versions of its running traces. An append that finds room on the page of its trace need not
-- write to any index. More room takes more disk.
with (fillfactor = 75);
-- The indexes of the trace list; lib/store/lists/trace-merge.ts says how they are used.
--
-- The newest traces, and the families that are frequent among them; the slowest and costliest without filters, and
-- deep pages of those with filters.
create index traces_newest on traces (project_id, started_at, id) include (family);
create index traces_slowest on traces (project_id, duration_ms, id) where duration_ms is not null;
create index traces_costliest on traces (project_id, cost_usd, id) where cost_usd is not null;
-- Filters by status, environment and model: the families that match are merged. The slowest and costliest of a long
-- list are in its indexes only above a floor (ranking_floors).
create index traces_of_family_newest on traces (project_id, family, started_at, id);
create index traces_slowest_of_family on traces (project_id, family, duration_ms, id)
  where duration_ms is not null and (ranked & 1) <> 0;
create index traces_costliest_of_family on traces (project_id, family, cost_usd, id)
  where cost_usd is not null and (ranked & 2) <> 0;
-- The same with a filter by name: the named families of the name and the matching families are merged.
create index traces_of_named_family_newest on traces (project_id, named_family, started_at, id);
create index traces_slowest_of_named_family on traces (project_id, named_family, duration_ms, id)
  where duration_ms is not null and (ranked & 4) <> 0;
create index traces_costliest_of_named_family on traces (project_id, named_family, cost_usd, id)
  where cost_usd is not null and (ranked & 8) <> 0;
-- The traces of a user, newest first: by family, and by named family.
create index traces_of_user_family on traces (project_id, user_family, started_at, id) where user_family is not null;
create index traces_of_user_named_family on traces (project_id, user_named_family, started_at, id) where user_named_family is not null;
-- The traces of a session, newest first. A session is a conversation and has few traces, so other filters look at each
-- one.
create index traces_of_session on traces (project_id, session_id, started_at, id) where session_id is not null;
-- lastTraceAt of a project.
create index traces_last_ingested on traces (project_id, ingested_at);

-- The families of traces that a project has, or once had. Filters are turned into the numbers in traces.family by it.
create table trace_families (
  project_id  int not null,
  family      bigint not null,
  status      text not null,
  environment text,
  model       text,
  constraint trace_families_pkey primary key (project_id, family)
);

-- The floors of the rankings of long lists. A trace below a floor is in the list, but need not be in the list's index
-- of the slowest or costliest. Floors only rise (lib/store/rankings/rankings.ts).
create table ranking_floors (
  project_id  int not null,
  list        bigint not null,
  -- Null if everything is ranked.
  duration_ms bigint,
  cost_usd    float8,
  constraint ranking_floors_pkey primary key (project_id, list)
);

-- A row for each tag of each trace, written and deleted in the same transaction as the trace. A GIN index on
-- traces.tags would have no order: it could only give all traces that match.
create table trace_tags (
  project_id       int not null,
  -- The rankings of the tag's lists that the row is in, as in traces.
  ranked           smallint not null default 15,
  named_family     bigint not null,
  family           bigint not null,
  started_at       timestamptz not null,
  duration_ms      bigint,
  cost_usd         float8,
  id               uuid not null,
  -- The numbers of the tag's lists: the tag with the family, with the named family, and with the family and the user.
  tag_family       bigint not null,
  tag_named_family bigint not null,
  tag_user         bigint,
  user_id          text,
  tag              text not null
);
-- The filter by tag, alone and with other filters: the same indexes as those of traces, and one for a user's traces.
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

-- The columns are ordered by their alignment: PostgreSQL would add 4 bytes to each row behind an int in front.
create table spans (
  trace_seq     bigint not null,
  started_at    timestamptz not null,
  ended_at      timestamptz not null,
  -- As the client sent them. All three are null if the span was recorded without usage.
  input_tokens  bigint,
  output_tokens bigint,
  total_tokens  bigint,
  cost_usd      float8,
  project_id    int not null,
  -- 8 bytes: the client's 16 hexadecimal digits.
  id            bytea not null,
  parent_id     bytea,
  -- The first 128 bits of the SHA-256 of the span's canonical document.
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
  -- If the four texts of all spans that were recorded together are packed, that is, compressed as one, each row has a
  -- slice of the result here, and null in the four columns (lib/rows/packed-texts.ts). `spoor export` shows them as
  -- they were sent.
  packed        bytea,
  constraint spans_pkey primary key (project_id, trace_seq, id)
)
-- PostgreSQL tries to compress a row only from half a page (of 8 kB) on. Its own choice is 2 kB, but values of that
-- size hardly get shorter, and trying costs much CPU.
with (toast_tuple_target = 4080);

-- Numbers of scores in the order of insertion, which break ties between scores made at the same moment.
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
  -- A JSON number, string or boolean; data_type says which.
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

-- The counters of a project. They are counted in several rows, its slots, and summed on reading, so that writers do
-- not wait for each other's row locks.
create table project_totals (
  project_id int not null,
  slot       smallint not null,
  traces     bigint not null,
  spans      bigint not null,
  bytes      bigint not null,
  constraint project_totals_pkey primary key (project_id, slot)
);

-- Free JSON is compressed by lz4 if the server was built with it: it takes less CPU than pglz.
do $$
begin
  alter table traces alter input set compression lz4, alter output set compression lz4, alter metadata set compression lz4;
  alter table spans alter input set compression lz4, alter output set compression lz4,
    alter attributes set compression lz4, alter events set compression lz4;
exception when feature_not_supported then
  null;
end
$$;
