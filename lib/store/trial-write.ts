/** Finds out whether the database would take a write, without leaving anything in it. */
import type { Sql } from 'postgres'

/** Whether the server refuses every write: it is a standby, or was told to be read-only. */
export async function isReadOnly(sql: Sql): Promise<boolean> {
  const [row] = await sql`select current_setting('transaction_read_only')::bool as "isReadOnly"`
  return row?.isReadOnly
}

/**
 * Rejects if the disk is full, or if somebody has locked the tables against writers. It takes the locks of a writer,
 * and sorts enough numbers for PostgreSQL to write a temporary file. PostgreSQL removes that file at once, so the
 * check takes no room however often it is made.
 */
export async function checkForRoom(sql: Sql): Promise<void> {
  await sql.unsafe(`do $$ begin
    lock table traces, spans, trace_tags, trace_families, scores, project_totals in row exclusive mode;
    perform set_config('work_mem', '64kB', true);
    perform count(*) from (select n from generate_series(1, 5000) n order by n desc) sorted;
  end $$`)
}

/** An id that no project has. */
const NO_PROJECT = 0
/** The SQLSTATE that ends the trial. Nothing else raises it. */
const UNDO = 'TRIAL'

/**
 * Writes a typical trace and undoes the write. Rejects if a write would. The undone rows take room until PostgreSQL's
 * vacuum removes them, so this trial is only for the time after a write has failed.
 */
export async function tryWrite(sql: Sql): Promise<void> {
  const id = 'gen_random_uuid()'
  const seq = '-pg_backend_pid()'
  const hash = `'\\x00'::bytea`
  await sql.unsafe(`do $$ begin
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
  end $$`)
}
