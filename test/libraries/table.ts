/** Prints the results, and writes them into the guide as a table. */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Cell } from './check.ts'
import type { Outage, OutageResult } from './outages.ts'
import { pinnedVersion } from './python.ts'
import { COLUMNS, type Row } from './row.ts'

const GUIDE = fileURLToPath(new URL('../../../plugins/docs/chapters/guide.html', import.meta.url))
const BEGIN = '<!-- npm run otlp-libraries writes from here -->'
const END = '<!-- to here -->'
const SIGNS = { arrives: '✓', absent: '–', wrong: '✗' } as const
/** Maximum number of printed characters per value. */
const MOST_SHOWN = 1_500

export const isExpected = (cells: readonly Cell[]): boolean => cells.every(({ state }) => state !== 'wrong')

export function printOutage({ name, collector }: Outage, { runs, wrong }: OutageResult): void {
  const said = wrong.length === 0 ? 'all stored, each once' : `${wrong.length} wrong:`
  const away = collector === undefined ? '' : ' while spoor was away twice'
  console.log(`${name.padEnd(28)} ${runs} runs${away}: ${said}`)
  for (const each of wrong.slice(0, 10)) console.log(`    ${each}`)
}

export function printRow(row: Row, cells: readonly Cell[]): void {
  const shown = cells.map(({ column, state }) => `${column} ${SIGNS[state]}`).join('  ')
  console.log(`${row.name.padEnd(28)} ${shown}`)
  if (cells.every(({ column, got }) => column === 'tree' || got === undefined || got === null)) return
  for (const { column, wanted, got } of cells.filter(({ state }) => state === 'wrong')) {
    console.log(`    ${column}: wanted ${cut(wanted)}\n      got ${cut(got)}`)
  }
}

const cut = (value: unknown) =>
  (JSON.stringify(value, null, 1) ?? 'nothing').replace(/\n */g, '\n        ').slice(0, MOST_SHOWN)

export async function writeGuide(
  results: ReadonlyMap<Row, readonly Cell[]>,
  kept: ReadonlyMap<Outage, OutageResult>
): Promise<void> {
  const guide = await readFile(GUIDE, 'utf8')
  const [before, rest] = guide.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined) throw new Error(`the guide must have ${BEGIN} and ${END} once`)
  const written = `\n${tableOf(results)}${outagesOf([...kept.keys()])}    `
  await writeFile(GUIDE, [before, BEGIN, written, END, after].join(''))
}

function tableOf(results: ReadonlyMap<Row, readonly Cell[]>): string {
  const heading = ['library', ...COLUMNS].map(name => `<th>${name}</th>`).join('')
  const lines = [...results].map(([row, cells]) => {
    const version = pinnedVersion(row.environment, row.distribution)
    const library = `<td>${row.library}<br><small>${row.distribution} ${version}</small></td>`
    return `        <tr>${library}${cells.map(({ state }) => `<td>${SIGNS[state]}</td>`).join('')}</tr>\n`
  })
  return `    <div class="wide">\n      <table>\n        <tr>${heading}</tr>\n${lines.join('')}      </table>\n    </div>\n`
}

function outagesOf(kept: readonly Outage[]): string {
  const names = (list: readonly Outage[]) =>
    list.map(({ library, version }) => `${library} <code>${version()}</code>`).join('; ')
  const through = kept.filter(({ collector }) => collector !== undefined)
  const direct = kept.filter(({ collector }) => collector === undefined)
  return `    <p>Every span is stored once: ${names(direct)}; and through two outages of spoor, ${names(through)}.</p>\n`
}
