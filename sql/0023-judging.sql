-- The scores that people give in a project: how each is written, and what it means. They guide the dashboard's forms
-- and validate nothing of the API.
create table score_definitions (
  project_id  int not null constraint score_definitions_project references projects on delete cascade,
  name        text not null,
  -- numeric, categorical or boolean.
  data_type   text not null,
  -- The range of a number. Null: no bound.
  minimum     float8,
  maximum     float8,
  -- The categories, in the order in which they are offered. Empty for other types.
  categories  text[] not null default '{}',
  description text not null default '',
  created_at  timestamptz not null default now(),
  constraint score_definitions_pkey primary key (project_id, name)
);

-- Traces that somebody is judging in a review, so that nobody else gets them. A lease ends by itself.
create table review_leases (
  project_id int not null constraint review_leases_project references projects on delete cascade,
  -- The name of the score that the reviewer gives.
  score_name text not null,
  trace_id   text not null,
  user_id    int not null constraint review_leases_user references users on delete cascade,
  until      timestamptz not null,
  constraint review_leases_pkey primary key (project_id, score_name, trace_id)
);
create index review_leases_of_user on review_leases (user_id);
create index review_leases_until on review_leases (project_id, until);
