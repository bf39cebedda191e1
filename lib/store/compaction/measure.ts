/**
 * Measures tables and indexes, and estimates their size after PostgreSQL has rewritten them. The estimate needs
 * neither an extension nor up-to-date statistics: it reads the sizes of the values in a sample of the pages. A mass
 * deletion leaves statistics wrong until the next vacuum.
 */
import type { Sql } from 'postgres'
import { LOCAL_TABLES, PROJECT_TABLES } from '../../database/tables.ts'
import {
  ALIGNMENTS,
  type EntryGroups,
  type EstimatedColumn,
  estimateIndex,
  estimateTable,
  TOAST_TARGET
} from './estimates.ts'

/** Number of pages of a table in the first sample. */
const SAMPLED_PAGES = 1500
/** If a sample has fewer rows, a larger one is read, up to MOST_PAGES. */
const LEAST_ROWS = 5000
const MOST_PAGES = 100_000
const LARGER = 8

export interface MeasuredIndex {
  readonly name: string
  readonly table: string
  readonly bytes: number
  /** Estimated bytes after a rebuild. */
  readonly afterBytes: number
}

export interface MeasuredTable {
  readonly name: string
  /** Bytes without indexes, but with the values that are stored outside the rows. */
  readonly bytes: number
  readonly afterBytes: number
  readonly indexes: readonly MeasuredIndex[]
}

interface TableRow {
  readonly name: string
  readonly oid: number
  readonly pages: number
  readonly bytes: number
  readonly hasToast: boolean
  readonly fillfactor: number
  readonly toastTarget: number
}

interface IndexRow {
  readonly name: string
  readonly bytes: number
  readonly isBtree: boolean
  readonly isUnique: boolean
  readonly fillfactor: number
  /** Whether the index has columns that are not part of its key. */
  readonly hasMore: boolean
  readonly condition: string | null
  /** The columns as SQL expressions with their lengths and alignments, as JSON. */
  readonly columns: string
}

/** Names of tables of this database; `only` limits them in tests. */
export const COMPACTED_TABLES: readonly string[] = [...PROJECT_TABLES, ...LOCAL_TABLES]

const optionOf = (name: string) =>
  `(select option_value::int from pg_options_to_table(c.reloptions) where option_name = '${name}')`

/** Measures the tables that exist and are not in `except`. Calls `onTable` before each. */
export async function measureTables(
  sql: Sql,
  except: readonly string[] = [],
  onTable: (name: string) => void = () => {}
): Promise<MeasuredTable[]> {
  const names = COMPACTED_TABLES.filter(name => !except.includes(name))
  const tables = await sql<TableRow[]>`
    select c.relname as name, c.oid::int8 as oid, pg_relation_size(c.oid) / 8192 as pages,
      pg_table_size(c.oid) as bytes, c.reltoastrelid <> 0 as "hasToast",
      coalesce(${sql.unsafe(optionOf('fillfactor'))}, 100) as fillfactor,
      coalesce(${sql.unsafe(optionOf('toast_tuple_target'))}, ${TOAST_TARGET}) as "toastTarget"
    from unnest(${names as string[]}::text[]) as wanted (name)
    join pg_class c on c.oid = to_regclass(wanted.name)
    where c.relkind = 'r' order by c.relname`
  const measured: MeasuredTable[] = []
  for (const table of tables) {
    onTable(table.name)
    measured.push(await measureTable(sql, table))
  }
  return measured
}

/** Measures one table. */
export async function measureOne(sql: Sql, name: string): Promise<MeasuredTable | undefined> {
  return (
    await measureTables(
      sql,
      COMPACTED_TABLES.filter(other => other !== name)
    )
  )[0]
}

async function measureTable(sql: Sql, table: TableRow): Promise<MeasuredTable> {
  const { name, bytes, hasToast, fillfactor, toastTarget } = table
  const columns = await readColumns(sql, table)
  const { rows, percent } = await sample(sql, table, columns)
  const share = percent / 100
  const afterBytes = estimateTable({ columns, rows, share, hasToast, fillfactor, toastTarget })
  const indexes: MeasuredIndex[] = []
  for (const index of await readIndexes(sql, table)) {
    const after = await estimateOne(sql, table, index, percent)
    // The estimate can exceed the size of a fresh index by a few pages.
    indexes.push({ name: index.name, table: name, bytes: index.bytes, afterBytes: Math.min(after, index.bytes) })
  }
  return { name, bytes, afterBytes: Math.min(afterBytes, bytes), indexes }
}

interface TableColumn extends EstimatedColumn {
  readonly name: string
  readonly mayVary: boolean
}

const readColumns = (sql: Sql, { oid }: TableRow): Promise<TableColumn[]> =>
  sql<TableColumn[]>`
    select a.attname as name, a.attlen as length, a.attalign::text as align, a.attstorage::text as storage,
      not a.attnotnull or a.attlen = -1 as "mayVary"
    from pg_attribute a where a.attrelid = ${oid}::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`

/** Reads the sizes of the values of a sample of rows. */
async function sample(sql: Sql, { name, pages }: TableRow, columns: readonly TableColumn[]) {
  const varying = columns.flatMap((column, i) => (column.mayVary ? [{ name: column.name, i }] : []))
  const sizes = varying.map(column => sql`pg_column_size(${sql(column.name)})`)
  const list = sizes.reduce<ReturnType<typeof sql>>((all, each) => sql`${all}, ${each}`, sql`1`)
  const fixed = columns.map(({ mayVary, length }) => (mayVary ? null : length))
  for (let wanted = SAMPLED_PAGES; ; wanted *= LARGER) {
    const percent = percentOf(wanted, pages)
    const found = await sql`
      select ${list} from ${sql(name)} tablesample system (${percent}) repeatable (1)`.values()
    if (percent < 100 && found.length < LEAST_ROWS && wanted * LARGER <= MOST_PAGES) continue
    return { percent, rows: found.map(values => fill(fixed, varying, values as (number | null)[])) }
  }
}

const percentOf = (wanted: number, pages: number): number => Math.min(100, (100 * wanted) / Math.max(1, pages))

function fill(
  fixed: readonly (number | null)[],
  varying: readonly { readonly i: number }[],
  values: readonly (number | null)[]
): (number | null)[] {
  const sizes = [...fixed]
  varying.forEach(({ i }, place) => {
    sizes[i] = values[place + 1] ?? null
  })
  return sizes
}

/** Returns the valid indexes of a table. */
const readIndexes = (sql: Sql, { oid }: TableRow): Promise<IndexRow[]> =>
  sql<IndexRow[]>`
    select c.relname as name, pg_relation_size(c.oid) as bytes, m.amname = 'btree' as "isBtree",
      i.indisunique as "isUnique", coalesce(${sql.unsafe(optionOf('fillfactor'))}, 90) as fillfactor,
      i.indnatts > i.indnkeyatts as "hasMore", pg_get_expr(i.indpred, i.indrelid) as condition,
      (
        select json_agg(json_build_object(
          'text', pg_get_indexdef(i.indexrelid, a.attnum::int, true), 'length', a.attlen, 'align', a.attalign
        ) order by a.attnum)::text
        from pg_attribute a where a.attrelid = i.indexrelid
      ) as columns
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
    where i.indrelid = ${oid}::oid and i.indisvalid order by c.relname`

interface IndexColumn {
  readonly text: string
  readonly length: number
  readonly align: string
}

async function estimateOne(sql: Sql, table: TableRow, index: IndexRow, percent: number): Promise<number> {
  if (!index.isBtree) return index.bytes
  const columns: IndexColumn[] = JSON.parse(index.columns)
  const where = index.condition === null ? '' : `where ${index.condition}`
  const from = `from ${table.name} tablesample system (${percent}) repeatable (1) ${where}`
  const keys = columns.map(({ text }) => text).join(', ')
  // Keys of a unique index differ, so they need no grouping.
  const deduplicates = !index.isUnique && !index.hasMore
  const counted = deduplicates
    ? `select count(*) as rows, max(${bytesOfEntry(columns)}) as bytes ${from} group by ${keys}`
    : `select 1::int8 as rows, ${bytesOfEntry(columns)} as bytes ${from}`
  const groups = await sql.unsafe<EntryGroups[]>(`
    select rows::int, count(*)::int as groups, avg(bytes)::float8 as bytes from (${counted}) entries group by rows`)
  return estimateIndex({ groups, share: percent / 100, fillfactor: index.fillfactor, deduplicates })
}

/** Returns SQL for the bytes of an index entry. Space for alignment is also counted before a null. */
function bytesOfEntry(columns: readonly IndexColumn[]): string {
  const texts = columns.map(({ text }) => text).join(', ')
  let bytes = '0'
  for (const { text, length, align } of columns) {
    const size = length === -1 ? `coalesce(pg_column_size(${text}), 0)` : `(${text} is not null)::int * ${length}`
    const to = length === -1 ? 1 : (ALIGNMENTS[align] ?? 8)
    const from = to === 1 ? bytes : `((${bytes} + ${to - 1}) & ~${to - 1})`
    bytes = `${from} + ${size}`
  }
  return `8 + 8 * (num_nulls(${texts}) > 0)::int + ((${bytes} + 7) & ~7)`
}
