import { nameCommands } from '../../lib/command-names.ts'
import type { Command, Flag } from '../command.ts'
import { nameInExample } from './started-as.ts'
import { alignColumns } from './table.ts'

export const SHARED_FLAGS: [flag: string, about: string][] = [
  ['--json', 'print one JSON value instead of text'],
  ['--help', 'print this help']
]

/** `started` is the command as it was started, such as `npx spoor`. */
export function commandHelp(name: string, { summary, usage }: Command, started: string): string {
  const flags = Object.entries(usage.flags).map(([flag, spec]) => [
    `${spec.short === undefined ? '' : `-${spec.short}, `}${flagForm(flag, spec)}`,
    spec.about
  ])
  return [
    `Usage: ${usageLine(name, usage, started)}`,
    '',
    `${summary}.`,
    ...(usage.details === undefined ? [] : [nameInExample(nameCommands(usage.details, started), started)]),
    '',
    ...indent(alignColumns([...flags, ...SHARED_FLAGS])),
    '',
    'Examples:',
    ...indent(usage.examples.map(example => nameInExample(`spoor ${example}`, started)))
  ].join('\n')
}

/** Returns the help for all commands whose names begin with `noun`, or for all commands if `noun` is undefined. */
export function overview(
  commands: Readonly<Record<string, Command>>,
  version: string,
  started: string,
  noun?: string
): string {
  const listed = Object.entries(commands).filter(([name]) => noun === undefined || name.startsWith(`${noun} `))
  return [
    `spoor ${version} records traces of AI applications.`,
    '',
    `Usage: ${started} ${noun === undefined ? '' : `${noun} `}<command> [flags]`,
    '',
    ...indent(alignColumns(listed.map(([name, { summary }]) => [name, summary]))),
    '',
    'Every command has --help (with examples) and --json (for scripts).',
    'Environment variables set the database and server address for every command: see the guide, at /docs/settings.'
  ].join('\n')
}

/** Returns a usage line such as `spoor key rotate KEYID [--flag VALUE]`. */
export function usageLine(name: string, usage: Command['usage'], started = 'spoor'): string {
  const flags = Object.entries(usage.flags).map(([flag, spec]) =>
    spec.required ? flagForm(flag, spec) : `[${flagForm(flag, spec)}]`
  )
  const { parameters, lastIsOptional, lastIsText } = usage
  const words = parameters.map((name, i) => {
    if (i < parameters.length - 1) return name
    const last = lastIsText ? `${name}…` : name
    return lastIsOptional ? `[${last}]` : last
  })
  return [started, name, ...words, ...flags].join(' ')
}

export function flagForm(name: string, { value }: Flag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`
}

function indent(lines: readonly string[]): string[] {
  return lines.map(line => `  ${line}`)
}
