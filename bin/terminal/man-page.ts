/** Renders the manual page spoor(1) from the commands, so that it never differs from `--help`. */
import { VARIABLES } from '../../lib/config.ts'
import type { Command } from '../command.ts'
import type { Commands } from '../command-line.ts'
import { flagForm, SHARED_FLAGS, usageLine } from './help.ts'

/** Exit codes of every command (bin/command-line.ts). */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'The command succeeded and found no problem.'],
  [1, 'The command failed, or found a problem.'],
  [2, 'The command line, a variable or the input is invalid. Nothing was changed.'],
  [130, 'The command was interrupted by Ctrl-C (143: by SIGTERM). Finished work is kept.']
]

/** Returns the page in the macros of man(7). */
export function manPage(commands: Commands, version: string): string {
  return [
    `.TH SPOOR 1 "" "spoor ${roff(version)}" "User Commands"`,
    '.SH NAME',
    'spoor \\- records traces of AI applications',
    '.SH SYNOPSIS',
    '.B spoor',
    '.I command',
    '.RI [ flags ]',
    '.SH DESCRIPTION',
    ...paragraph('A server that records traces of AI applications and agents in PostgreSQL, with commands that'),
    ...paragraph('operate it and query the traces. You can run commands while a server is running.'),
    '.SH COMMANDS',
    ...Object.entries(commands).flatMap(([name, command]) => section(name, command)),
    '.SH COMMON FLAGS',
    ...SHARED_FLAGS.flatMap(([flag, about]) => item(flag, about)),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(([code, meaning]) => item(String(code), meaning)),
    '.SH ENVIRONMENT',
    ...paragraph("The guide's Settings page, which the server serves at /docs/settings, explains each variable:"),
    ...paragraph(`${VARIABLES.join(', ')}.`),
    ''
  ].join('\n')
}

function section(name: string, { summary, usage }: Command): string[] {
  const details = (usage.details ?? '').split('\n\n').filter(text => text !== '')
  return [
    `.SS ${roff(name)}`,
    ...paragraph(usageLine(name, usage)),
    '.PP',
    ...paragraph(`${summary}.`),
    ...details.flatMap(text => ['.PP', ...paragraph(text)]),
    ...Object.entries(usage.flags).flatMap(([flag, spec]) => item(flagForm(flag, spec), spec.about)),
    '.PP',
    'Examples:',
    '.PP',
    '.nf',
    ...usage.examples.map(example => roff(`    spoor ${example}`)),
    '.fi'
  ]
}

const item = (term: string, about: string): string[] => ['.TP', `.B ${roff(term)}`, ...paragraph(about)]

const paragraph = (text: string): string[] => text.split('\n').map(roff)

/** Escapes a line of text. A line that begins with a dot or an apostrophe would be a request. */
const roff = (line: string): string =>
  line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&')
    .replace(
      /[^\0-\x7f]/gu,
      character => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`
    )
