-- Search over traces by their words, of the projects that ask for it (lib/store/search).
alter table projects add column search boolean not null default false;

-- Writes to traces of such projects whose words are not in the index yet. A row is written in the transaction of its write;
-- `version` is that write's own number.
create table search_news (
  project_id int not null,
  seq        bigint not null,
  version    bigint not null,
  constraint search_news_pkey primary key (project_id, seq, version)
);

-- The words of the newest traces as numbers, until there are enough for a segment.
create table search_terms (
  project_id int not null,
  seq        bigint not null,
  started_at timestamptz not null,
  terms      int[] not null,
  constraint search_terms_pkey primary key (project_id, seq)
)
-- A search looks at all rows, and PostgreSQL would move most of these values out of them.
with (toast_tuple_target = 8160);
alter table search_terms alter terms set storage main;

-- Segments of the index: some thousand traces each. What is deleted of them stays until its segment is swept.
create table search_segments (
  project_id int not null,
  segment    bigint not null,
  -- When the newest and the oldest of its traces started.
  newest     timestamptz not null,
  oldest     timestamptz not null,
  swept_at   timestamptz not null default now(),
  -- The traces, the newest first (lib/search/segment.ts).
  members    bytea not null,
  constraint search_segments_pkey primary key (project_id, segment)
);
alter table search_segments alter members set storage external;

-- Which traces of a segment have a word: the words of a bucket.
create table search_postings (
  project_id int not null,
  segment    bigint not null,
  bucket     smallint not null,
  postings   bytea not null,
  constraint search_postings_pkey primary key (project_id, segment, bucket)
)
with (toast_tuple_target = 8160);
alter table search_postings alter postings set storage external;

-- How far the traces that a project had before are in the index, from the newest on.
create table search_fills (
  project_id int not null,
  begun_at   timestamptz not null default now(),
  -- Null before the first.
  back_to    timestamptz,
  back_id    uuid,
  is_done    boolean not null default false,
  constraint search_fills_pkey primary key (project_id)
);
