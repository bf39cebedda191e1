/**
 * Checks whether the database would accept a write, without leaving data behind. Each check is a statement that returns
 * nothing, so it can run on any connection, including connections for COPY. The statement fails if a real write would
 * fail.
 */

/** Fails with 25006, read_only_sql_transaction, on a standby or a read-only server. */
export const CHECK_ACCESS = `do $$ begin
  if current_setting('transaction_read_only')::bool then raise sqlstate '25006'; end if;
end $$`

/**
 * Fails if the disk is full or another session has locked the tables against writers. Takes the locks that a writer
 * takes, and sorts enough numbers to make PostgreSQL write a temporary file. PostgreSQL removes the file immediately,
 * so repeated checks use no additional disk space.
 */
export const CHECK_ROOM = `do $$ begin
  lock table traces, spans, trace_tags, trace_families, scores, project_totals in row exclusive mode;
  perform set_config('work_mem', '64kB', true);
  perform count(*) from (select n from generate_series(1, 5000) n order by n desc) sorted;
end $$`

/** An id that no project has. */
const NO_PROJECT = 0
/** SQLSTATE that ends the trial. No other code raises this SQLSTATE. */
const UNDO = 'TRIAL'

const id = 'gen_random_uuid()'
const seq = '-pg_backend_pid()'
const hash = `'\\x00'::bytea`

/**
 * Writes a typical trace and undoes the write. Fails if a real write would fail. The undone rows use disk space until
 * PostgreSQL's vacuum removes them, so the trial should run only after a write has failed.
 */
export const TRY_WRITE = `do $$ begin
    insert into traces (project_id, seq, version, id, name, status, started_at, span_count, error_count, document_bytes,
      estimated_bytes, body_hash, family, named_family)
    values (${NO_PROJECT}, ${seq}, 0, ${id}, 'trial', 'ok', now(), 8, 0, 0, 0, ${hash}, 0, 0);
    insert into spans (project_id, trace_seq, id, started_at, ended_at, hash, name, kind, status, input)
    select ${NO_PROJECT}, ${seq}, int8send(n), now(), now(), ${hash}, 'trial', 'llm', 'ok', to_json(repeat('x', 1700))
    from generate_series(1, 8) n;
    insert into trace_families (project_id, family, status) values (${NO_PROJECT}, ${seq}, 'ok');
    insert into trace_tags (project_id, named_family, family, tag_family, tag_named_family, started_at, id, tag)
    values (${NO_PROJECT}, 0, 0, 0, 0, now(), ${id}, 'trial');
    insert into scores (project_id, trace_seq, seq, id, name, data_type, value, source)
    values (${NO_PROJECT}, ${seq}, 0, ${hash}, 'trial', 'numeric', '1', 'api');
    insert into project_totals (project_id, slot, traces, spans, bytes) values (${NO_PROJECT}, 0, 1, 8, 0)
      on conflict (project_id, slot) do nothing;
    raise sqlstate '${UNDO}';
  exception when sqlstate '${UNDO}' then null;
  end $$`
