-- Prices that operators set for models, in US dollars per million tokens. A call without a cost gets one by them; they
-- win over the bundled prices.
create table model_prices (
  id          int generated always as identity constraint model_prices_pkey primary key,
  -- Null: for all projects.
  project_id  int constraint model_prices_project references projects on delete cascade,
  -- The model as spans name it.
  model       text not null,
  -- Null: since ever.
  valid_from  timestamptz,
  input       float8 not null,
  output      float8 not null,
  -- Null: tokens of the cache cost as much as other input.
  cache_read  float8,
  cache_write float8
);
create unique index model_prices_names on model_prices (project_id, model, valid_from) nulls not distinct;

-- Models whose calls got no cost because they have no price, with the number of these calls. A crash may lose a few.
create table unpriced_models (
  project_id int not null constraint unpriced_models_project references projects on delete cascade,
  model      text not null,
  calls      bigint not null,
  last_at    timestamptz not null default now(),
  constraint unpriced_models_pkey primary key (project_id, model)
);
