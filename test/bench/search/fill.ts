/**
 * The traces of the search benchmark. Their texts have some hundred words from a vocabulary in which few words are
 * frequent and most are rare; every fifth text has Chinese characters. Some words occur in a known share of the traces.
 * PostgreSQL itself generates the traces.
 */
import type { Sql } from 'postgres'

const CHUNK = 50_000
const VOCABULARY = 60_000
const WORDS = 120
const CHARACTERS = 60
/** For each word, the number N if the word occurs in one trace out of N. */
export const SHARES = { tenth: 10, hundredth: 100, seldom: 10_000, hardly: 200_000 } as const

/**
 * Adds traces to a project, one per second, until the project has `traces` traces. Nothing else may use the project.
 */
export async function fillTexts(
  sql: Sql,
  projectId: number,
  { found, traces }: { readonly found: number; readonly traces: number },
  onProgress: (done: number) => void
): Promise<void> {
  await sql`set synchronous_commit = off`
  await sql`
    create temporary table vocabulary as
    select n, (select string_agg(substr('etaoinshrdlucmfw', 1 + (n >> (4 * i)) % 16, 1)
        || substr('aeiou', 1 + (n >> (3 * i)) % 5, 1), '') from generate_series(0, 3) i) || n % 7 as word
    from generate_series(0, ${VOCABULARY - 1}) n`
  await sql`alter table vocabulary add primary key (n)`
  await sql`analyze vocabulary`
  for (let first = found; first < traces; first += CHUNK) {
    await sql.unsafe(insertTraces(projectId, first, Math.min(first + CHUNK, traces) - 1))
    onProgress(first + CHUNK)
  }
  await sql.unsafe('vacuum (analyze) traces')
}

/** Returns SQL for a random number below `most`. Low numbers are more frequent than high ones. */
const zipf = (most: number) => `floor(exp(random() * ln(${most})))::int % ${most}`

const insertTraces = (projectId: number, first: number, last: number) => `
  insert into traces (project_id, seq, version, id, span_count, error_count, started_at, ended_at, duration_ms, ingested_at,
    document_bytes, estimated_bytes, name, status, model, body_hash, input, output, family, named_family)
  select ${projectId}, 1000 + i, 1000 + i, md5(i::text)::uuid, 0, 0, at, at + interval '1 s', 1000, at, 1000, 1000,
    'run ' || i % 20, case when i % 1000 = 7 then 'error' else 'ok' end, 'model-' || i % 5, '\\x00',
    to_json(words.text || ${Object.entries(SHARES)
      .map(([word, share], place) => `case when i % ${share} = ${place + 7} then ' ${word}' else '' end`)
      .join(' || ')}),
    case when i % 5 = 0 then to_json(characters.text) end, i % 5, i % 100
  from generate_series(${first}, ${last}) i
  cross join lateral (select timestamptz '2026-01-01' + i * interval '1 s' as at) time
  cross join lateral (
    select string_agg(word, ' ') as text
    from (select ${zipf(VOCABULARY)} as n from generate_series(1, ${WORDS}) where i = i) picked join vocabulary using (n)
  ) words
  cross join lateral (
    select string_agg(chr(19968 + ${zipf(3000)}), '') as text from generate_series(1, ${CHARACTERS}) where i = i
  ) characters`
