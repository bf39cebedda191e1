/** Compares the list of columns with the tables that the migrations create. */
import t from 'tap'
import { listValues } from '../../../lib/rows/column-values.ts'
import {
  APPEND_COLUMNS,
  type Column,
  END_COLUMNS,
  GROWTH_COLUMNS,
  LIST_COLUMNS,
  offsetIn,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  TAG_COLUMNS,
  TARGET_COLUMNS,
  TRACE_COLUMNS
} from '../../../lib/rows/columns.ts'
import { CopyWriter, fieldWriter } from '../../../lib/rows/copy-format.ts'
import { digitsOf, listsOf } from '../../../lib/rows/list-numbers.ts'
import { testDatabase } from '../../fixtures/database/database.ts'

interface TableColumn {
  readonly name: string
  readonly type: string
  readonly notNull: boolean
  readonly hasDefault: boolean
}
const database = await testDatabase(t)
const readTable = (table: string) =>
  database.pool.run(async sql => {
    const rows = await sql<TableColumn[]>`
      select attname as name, typname as type, attnotnull as "notNull", atthasdef or attidentity <> '' as "hasDefault"
      from pg_attribute join pg_type on pg_type.oid = atttypid
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`
    return new Map(rows.map(row => [row.name, row]))
  })

/** PostgreSQL's internal names of types. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  smallint: 'int2',
  int: 'int4',
  bigint: 'int8',
  boolean: 'bool',
  'text[]': '_text'
}
const ownName = ({ type }: Column) => OWN_NAMES[type] ?? type

t.test('every copied column exists in its table, and every required one is copied', async t => {
  const tables = { traces: TRACE_COLUMNS, spans: SPAN_COLUMNS, trace_tags: TAG_COLUMNS, scores: SCORE_COLUMNS }
  for (const [table, columns] of Object.entries(tables)) {
    const there = await readTable(table)
    for (const column of columns) {
      const { type, notNull } = there.get(column.name) ?? {}
      t.equal(type, ownName(column), `${table}.${column.name}`)
      if (column.fixed) t.ok(notNull, `${table}.${column.name} is never null`)
    }
    const names = new Set(columns.map(({ name }) => name))
    t.equal(names.size, columns.length, 'none is repeated')
    for (const { name, notNull, hasDefault } of there.values()) {
      if (notNull && !hasDefault) t.ok(names.has(name), `${table}.${name}`)
    }
  }
})

t.test('every column that a change sets exists in traces, and so does the column of every choice', async t => {
  const there = await readTable('traces')
  const targets = TARGET_COLUMNS.map(({ name }) => name as string)
  for (const columns of [APPEND_COLUMNS, END_COLUMNS, GROWTH_COLUMNS] as readonly (readonly Column[])[]) {
    const names = columns.map(({ name }) => name)
    for (const column of columns.filter(({ name }) => !targets.includes(name))) {
      const [, chosen] = /^sets_(.*)$/.exec(column.name) ?? []
      if (chosen === undefined) t.equal(there.get(column.name)?.type, ownName(column), column.name)
      else t.ok(column.type === 'boolean' && names.includes(chosen), column.name)
    }
  }
})

t.test("a column's position is where its value is written", async t => {
  const lists = listsOf({ status: 'ok', model: 'm', name: 'n', userId: 'u' }, 'production')
  const rows = new CopyWriter()
  fieldWriter(LIST_COLUMNS, listValues)(rows, lists)
  const bytes = Buffer.from(rows.take())
  t.equal(String(bytes.readBigInt64BE(offsetIn(LIST_COLUMNS, 'family', true))), digitsOf(lists.family))
  t.equal(String(bytes.readBigInt64BE(offsetIn(LIST_COLUMNS, 'named_family', true))), digitsOf(lists.namedFamily))
  t.strictSame([offsetIn(SPAN_COLUMNS, 'project_id'), offsetIn(SPAN_COLUMNS, 'trace_seq')], [2 + 4, 2 + 4 + 4 + 4])
  t.throws(() => offsetIn(LIST_COLUMNS, 'user_named_family'), /user_named_family is not fixed/)
  t.throws(() => offsetIn(TRACE_COLUMNS, 'nowhere'), /nowhere is not fixed/)
})
