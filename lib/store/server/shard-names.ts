/** The statements of the schema, as they are on the node that has a project's shard: with the tables of the shard. */
import type { Sql } from 'postgres'
import type { Shard } from '../../cluster/shards.ts'

/** Beyond that all are made again. There are some hundred texts, for each shard. */
const MOST_TEXTS = 5000

/** What has been made of the texts and templates that are asked for again and again, by shard. */
const made = new WeakMap<Shard, Names>()

/**
 * The same connection for statements that name tables of the schema, which are those of the shard. Only for reading. `onText`
 * is told what is asked, or a part of it.
 */
export function inShard(sql: Sql, shard: Shard, onText: (text: string) => void): Sql {
  const names = made.get(shard) ?? new Names(shard)
  made.set(shard, names)
  return new Proxy(sql, {
    apply(target, self, [first, ...rest]) {
      if (!isTemplate(first)) return Reflect.apply(target, self, [first, ...rest])
      const template = names.template(first)
      onText(template.join(''))
      return Reflect.apply(target, self, [template, ...rest])
    },
    get(target, property) {
      if (property !== 'unsafe') return Reflect.get(target, property)
      return (asked: string, ...rest: never[]) => {
        const text = names.text(asked)
        onText(text)
        return target.unsafe(text, ...rest)
      }
    }
  })
}

/** A text in which each table that is read is the shard's. */
export const nameTables = (text: string, tables: Shard['tables']): string =>
  text.replace(READ, (whole, before: string, name: string) =>
    tables[name] === undefined ? whole : `${before}${tables[name]}`
  )
const READ = /\b((?:from|join)\s+)([a-z_]+)\b/g

class Names {
  readonly #tables: Shard['tables']
  #texts = new Map<string, string>()
  readonly #templates = new WeakMap<TemplateStringsArray, TemplateStringsArray>()

  constructor({ tables }: Shard) {
    this.#tables = tables
  }

  text(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    if (this.#texts.size >= MOST_TEXTS) this.#texts = new Map()
    const own = nameTables(text, this.#tables)
    this.#texts.set(text, own)
    return own
  }

  template(strings: TemplateStringsArray): TemplateStringsArray {
    const known = this.#templates.get(strings)
    if (known !== undefined) return known
    const own = (list: readonly string[]) => list.map(text => nameTables(text, this.#tables))
    const template = Object.assign(own(strings), { raw: own(strings.raw) })
    this.#templates.set(strings, template)
    return template
  }
}

const isTemplate = (value: unknown): value is TemplateStringsArray => Array.isArray(value) && 'raw' in value
