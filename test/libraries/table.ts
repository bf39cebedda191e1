/** Prints the results, and writes them into the guide as a table. */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Cell } from './check.ts'
import { AGENT_COLUMNS, type AgentRow } from './coding-agents/row.ts'
import type { Outage, OutageResult } from './outages.ts'
import { pinnedVersion } from './python.ts'
import { COLUMNS, type Row } from './row.ts'

const CHAPTERS = new URL('../../../plugins/docs/chapters/', import.meta.url)
const [AGENTS, LIBRARIES] = ['coding-agents.html', 'opentelemetry.html'].map(name =>
  fileURLToPath(new URL(name, CHAPTERS))
)
/** Returns the comment that begins a part of the guide. The part ends at END. */
const beginOf = (part: string) => `<!-- npm run otlp-libraries writes ${part} from here -->`
const END = '<!-- to here -->'
const SIGNS = { arrives: '✓', absent: '–', wrong: '✗' } as const
/** Columns that have a value even if nothing has arrived. */
const COMPOSED = ['tree', 'steps', 'session']
/** Maximum number of printed characters per value. */
const MOST_SHOWN = 1_500

export const isExpected = (cells: readonly Cell[]): boolean => cells.every(({ state }) => state !== 'wrong')

export function printOutage({ name, collector }: Outage, { runs, wrong }: OutageResult): void {
  const said = wrong.length === 0 ? 'all stored, each once' : `${wrong.length} wrong:`
  const away = collector === undefined ? '' : ' while spoor was away twice'
  console.log(`${name.padEnd(28)} ${runs} runs${away}: ${said}`)
  for (const each of wrong.slice(0, 10)) console.log(`    ${each}`)
}

export function printRow(row: { readonly name: string }, cells: readonly Cell[]): void {
  const shown = cells.map(({ column, state }) => `${column} ${SIGNS[state]}`).join('  ')
  console.log(`${row.name.padEnd(28)} ${shown}`)
  if (cells.every(({ column, got }) => COMPOSED.includes(column) || got === undefined || got === null)) return
  for (const { column, wanted, got } of cells.filter(({ state }) => state === 'wrong')) {
    console.log(`    ${column}: wanted ${cut(wanted)}\n      got ${cut(got)}`)
  }
}

const cut = (value: unknown) =>
  (JSON.stringify(value, null, 1) ?? 'nothing').replace(/\n */g, '\n        ').slice(0, MOST_SHOWN)

export async function writeGuide(
  results: ReadonlyMap<Row, readonly Cell[]>,
  fromAgents: ReadonlyMap<AgentRow, readonly Cell[]>,
  kept: ReadonlyMap<Outage, OutageResult>
): Promise<void> {
  const libraries = [...results].map(([row, cells]) => {
    const about = `${row.distribution} ${pinnedVersion(row.environment, row.distribution)}`
    return rowOf(row.library, about, cells)
  })
  const agents = [...fromAgents].map(([{ library, version }, cells]) => rowOf(library, version, cells))
  await replaceIn(AGENTS!, 'agents', tableOf(['agent', ...AGENT_COLUMNS], agents))
  await replaceIn(LIBRARIES!, 'libraries', tableOf(['library', ...COLUMNS], libraries) + outagesOf([...kept.keys()]))
}

async function replaceIn(chapter: string, part: string, text: string): Promise<void> {
  await writeFile(chapter, replaced(await readFile(chapter, 'utf8'), part, text))
}

function replaced(guide: string, part: string, text: string): string {
  const begin = beginOf(part)
  const [before, rest = '', ...more] = guide.split(begin)
  const end = rest.indexOf(END)
  if (end === -1 || more.length > 0) throw new Error(`the guide must have ${begin} once, and ${END} after it`)
  return `${before}${begin}\n${text}    ${rest.slice(end)}`
}

function tableOf(columns: readonly string[], rows: readonly string[]): string {
  const heading = columns.map(name => `<th>${name}</th>`).join('')
  return `    <div class="wide">\n      <table>\n        <tr>${heading}</tr>\n${rows.join('')}      </table>\n    </div>\n`
}

function rowOf(library: string, about: string, cells: readonly Cell[]): string {
  const signs = cells.map(({ state }) => `<td>${SIGNS[state]}</td>`).join('')
  return `        <tr><td>${library}<br><small>${about}</small></td>${signs}</tr>\n`
}

function outagesOf(kept: readonly Outage[]): string {
  const names = (list: readonly Outage[]) =>
    list.map(({ library, version }) => `${library} <code>${version()}</code>`).join('; ')
  const through = kept.filter(({ collector }) => collector !== undefined)
  const direct = kept.filter(({ collector }) => collector === undefined)
  const always = `In our tests, spoor stored each span from these exporters exactly once: ${names(direct)}.`
  return `    <p>${always} It did so even across two outages of spoor with these: ${names(through)}.</p>\n`
}
