/** Generates command-line completion scripts for bash, zsh and fish from one list of choices. */
import type { Commands } from '../command-line.ts'
import { SHARED_FLAGS } from './help.ts'

/** The words that may follow certain preceding words. */
interface Choice {
  /** The words between `spoor` and the word being typed, each followed by a space. */
  readonly after: string
  /** Whether other words may come between `after` and the cursor, such as a command's parameters and flags. */
  readonly hasMore: boolean
  readonly options: readonly Option[]
}

interface Option {
  readonly word: string
  readonly about: string
  /** Whether a value follows the word. Most flags take a value. */
  readonly hasValue: boolean
}

/** Script generators by shell. Each script completes file names if nothing else applies. */
const SCRIPTS = { bash, zsh, fish } as const
export type CompletedShell = keyof typeof SCRIPTS
export const SHELLS = Object.keys(SCRIPTS) as readonly CompletedShell[]

export function completionScript(shell: CompletedShell, commands: Commands): string {
  return SCRIPTS[shell](choicesOf(commands))
}

/** Lists each command's flags, each noun's verbs, and the nouns. */
function choicesOf(commands: Commands): readonly Choice[] {
  const names = Object.keys(commands)
  const word = (word: string, about: string): Option => ({ word, about, hasValue: false })
  const flags = Object.entries(commands).map(([name, { usage }]) => ({
    after: `${name} `,
    hasMore: true,
    options: [
      ...Object.entries(usage.flags).map(([flag, { about, type }]) => ({
        word: `--${flag}`,
        about,
        hasValue: type === 'string'
      })),
      ...SHARED_FLAGS.map(([flag, about]) => word(flag, about))
    ]
  }))
  const nouns = [...new Set(names.map(name => name.split(' ')[0]!))]
  const verbs = nouns.flatMap(noun => {
    const own = names.filter(name => name.startsWith(`${noun} `))
    if (own.length === 0) return []
    const options = own.map(name => word(name.slice(noun.length + 1), commands[name]!.summary))
    return [{ after: `${noun} `, hasMore: false, options }]
  })
  const first = nouns.map(noun => word(noun, commands[noun]?.summary ?? `Commands: ${verbsOf(names, noun)}`))
  return [...flags, ...verbs, { after: '', hasMore: false, options: [...first, word('help', 'Show help')] }]
}

function verbsOf(names: readonly string[], noun: string): string {
  const own = names.filter(name => name.startsWith(`${noun} `))
  return own.map(name => name.slice(noun.length + 1)).join(', ')
}

/** Puts a string in single quotes, for bash and zsh. */
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

function bash(choices: readonly Choice[]): string {
  return [
    '_spoor() {',
    `  local current=\${COMP_WORDS[COMP_CWORD]} options=`,
    `  local before="\${COMP_WORDS[*]:1:COMP_CWORD-1} "`,
    `  [[ $COMP_CWORD == 1 ]] && before=`,
    '  case "$before" in',
    ...choices.map(({ after, hasMore, options }) => {
      const words = quote(options.map(({ word }) => word).join(' '))
      return hasMore
        ? `    ${quote(after)}*) [[ $current == -* ]] && options=${words} ;;`
        : `    ${quote(after)}) options=${words} ;;`
    }),
    '  esac',
    '  COMPREPLY=($(compgen -W "$options" -- "$current"))',
    '}',
    'complete -o default -F _spoor spoor'
  ].join('\n')
}

function zsh(choices: readonly Choice[]): string {
  return [
    '#compdef spoor',
    '_spoor() {',
    '  local -a options',
    '  local before=""',
    `  (( CURRENT > 2 )) && before="\${(j: :)words[2,CURRENT-1]} "`,
    '  case "$before" in',
    ...choices.map(({ after, hasMore, options }) => {
      const list = options.map(({ word, about }) => quote(`${word}:${about}`)).join(' ')
      return hasMore
        ? `    ${quote(after)}*) [[ $PREFIX == -* ]] && options=(${list}) ;;`
        : `    ${quote(after)}) options=(${list}) ;;`
    }),
    '  esac',
    '  if (( $#options )); then _describe -V spoor options; else _files; fi',
    '}',
    // If the script is in a directory listed in $fpath, zsh runs the script as the completion function. If the script
    // is evaluated instead, the script registers the function.
    'if [[ $funcstack[1] == _spoor ]]; then _spoor "$@"; else compdef _spoor spoor; fi'
  ].join('\n')
}

function fish(choices: readonly Choice[]): string {
  const quoted = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`
  return [
    'function __spoor_after',
    '  set --local before (commandline --tokens-expanded --current-process --cut-at-cursor 2>/dev/null',
    '    or commandline --tokenize --current-process --cut-at-cursor)[2..]',
    `  test -n "$before"; and set before "$before "`,
    '  string match --quiet -- $argv[1] "$before"',
    'end',
    ...choices.flatMap(({ after, hasMore, options }) =>
      options.map(({ word, about, hasValue }) => {
        const condition = `--condition ${quoted(`__spoor_after ${quoted(hasMore ? `${after}*` : after)}`)}`
        const what = word.startsWith('--') ? `--long-option ${word.slice(2)}` : `--no-files --arguments ${word}`
        const value = hasValue ? ' --require-parameter' : ''
        return `complete --command spoor ${condition} ${what}${value} --description ${quoted(about)}`
      })
    )
  ].join('\n')
}
