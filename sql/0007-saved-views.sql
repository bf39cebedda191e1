-- Names for addresses of the dashboard: a page of a project with its filters. A view is somebody's own, or shared with
-- everybody who sees the project; what is shared belongs to nobody, so it stays when the one who shared it is gone.
create table saved_views (
  id         int generated always as identity constraint saved_views_pkey primary key,
  project_id int not null constraint saved_views_project references projects on delete cascade,
  -- Null: it is shared.
  user_id    int constraint saved_views_user references users on delete cascade,
  name       text not null,
  -- The page, and the search of its address, such as `?range=7d&status=error`. Times that are relative stay so.
  page       text not null,
  query      text not null,
  created_at timestamptz not null default now()
);
-- Finds a project's views for somebody, and keeps names apart: those of one person, and those that are shared.
create unique index saved_views_names on saved_views (project_id, user_id, name) nulls not distinct;
create index saved_views_of_user on saved_views (user_id) where user_id is not null;
