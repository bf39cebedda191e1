/**
 * Runs the command named on a command line and determines the exit code: 0 for success, 1 if the command failed or
 * found a problem, 2 for incorrect usage, 130 or 143 if interrupted. Errors are reported as one line on stderr.
 */
import { parseArgs } from 'node:util'
import { AdminError, InputError } from '../lib/admin-error.ts'
import { nameCommands } from '../lib/command-names.ts'
import { VARIABLES } from '../lib/config.ts'
import { visibleLines } from '../lib/log-text.ts'
import { editDistance } from '../lib/nearest.ts'
import { EnvironmentError } from '../lib/trace/environment.ts'
import { VERSION } from '../lib/version.ts'
import { type Call, type Command, type Flags, UsageError } from './command.ts'
import { commandHelp, overview, usageLine } from './terminal/help.ts'
import { Interrupted } from './terminal/interrupt.ts'
import { Progress, type Terminal } from './terminal/progress.ts'
import { Screen, type Shown } from './terminal/screen.ts'
import { PLAIN, type StartedAs } from './terminal/started-as.ts'

export type Commands = Readonly<Record<string, Command>>

interface Output extends Shown {
  write(bytes: string | Uint8Array, done?: (error?: Error | null) => void): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** The environment in which a command line runs, supplied by the process or by a test. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv
  readonly stdout: Output
  readonly stderr: Terminal
  /** The command that messages print; `spoor` by default. */
  readonly started?: StartedAs
}

export async function runCommandLine(
  commands: Commands,
  args: readonly string[],
  { env, stdout, stderr, started = PLAIN }: Surroundings
): Promise<number> {
  // Names, labels and messages may contain hostile text, so all command output passes through this function or
  // Progress.
  const write = (text: string) => stdout.write(`${visibleLines(text)}\n`)
  const named = (text: string) => nameCommands(text, started.command)
  const progress = new Progress(stderr)
  try {
    const [first = 'help'] = args
    if (VERSION_WORDS.includes(first)) write(VERSION)
    else if (first === 'help') write(helpFor(commands, args.slice(1), started))
    else if (args.some(isHelpFlag) || isNounHelp(commands, args)) write(helpFor(commands, args, started))
    else {
      const { name, words } = findCommand(commands, args)
      const usage = usageLine(name, commands[name]!.usage, started.command)
      const { json, ...parsed } = parseCall(name, commands[name]!, words, usage)
      const print = (value: unknown, text: string) => write(json ? JSON.stringify(value) : named(text))
      const stream = streamTo(stdout)
      const screen = new Screen(stdout, env, stream)
      await commands[name]!.run({ ...parsed, json, print, env, started, stream, progress, screen })
    }
    return 0
  } catch (error) {
    progress.say(`spoor: ${named(messageOf(error, env))}`)
    return exitCodeOf(error)
  }
}

const VERSION_WORDS = ['--version', '-v', '-V', 'version']

/**
 * Errors caused by the command line, the command's input or the environment rather than by the database's contents. The
 * exit code is 2.
 */
const WRONG = [UsageError, InputError, EnvironmentError]

function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode
  return WRONG.some(wrong => error instanceof wrong) ? 2 : 1
}

/** Returns the command's name (one or two words) and the words that follow. */
function findCommand(commands: Commands, args: readonly string[]): { name: string; words: string[] } {
  const names = Object.keys(commands)
  const [noun, verb] = args
  if (noun === undefined) throw new UsageError('which command? See `spoor --help`')
  if (names.includes(`${noun} ${verb}`)) return { name: `${noun} ${verb}`, words: args.slice(2) }
  if (names.includes(noun)) return { name: noun, words: args.slice(1) }
  const verbs = names.filter(name => name.startsWith(`${noun} `))
  if (verbs.length === 0) {
    const nouns = [...new Set(names.map(name => name.split(' ')[0]!))]
    const similar = verb === undefined ? undefined : nearest(`${noun} ${verb}`, names)
    throw new UsageError(unknown('command', noun, names, similar ?? nearest(noun, [...names, ...nouns])))
  }
  if (verb === undefined || verb.startsWith('-')) throw new UsageError(`which of ${verbs.join(', ')}?`)
  const similar = verbs.find(name => name === `${noun} ${nearest(verb, verbs.map(lastWord))}`)
  throw new UsageError(unknown('command', `${noun} ${verb}`, verbs, similar))
}

/** Returns the help for the named command, for a noun's commands, or for all commands. */
function helpFor(commands: Commands, args: readonly string[], { command }: StartedAs): string {
  const [noun, verb] = args.filter(word => !isHelpFlag(word) && word !== 'help')
  if (noun === undefined) return overview(commands, VERSION, command)
  const isNoun = commands[noun] === undefined && Object.keys(commands).some(name => name.startsWith(`${noun} `))
  if (verb === undefined && isNoun) return overview(commands, VERSION, command, noun)
  const { name } = findCommand(commands, args)
  return commandHelp(name, commands[name]!, command)
}

/** Whether the words are `NOUN help`, such as `key help`. */
const isNounHelp = (commands: Commands, [noun, verb, ...others]: readonly string[]): boolean =>
  verb === 'help' && others.length === 0 && Object.keys(commands).some(name => name.startsWith(`${noun} `))

function isHelpFlag(word: string): boolean {
  return word === '--help' || word === '-h'
}

type ParsedCall = Pick<Call, 'flags' | 'parameters' | 'json'>

function parseCall(name: string, command: Command, words: string[], usage: string): ParsedCall {
  const { parameters, flags, lastIsOptional, lastIsText } = command.usage
  const refuse = (problem: string): never => {
    throw new UsageError(`${problem}; usage: ${usage}`)
  }
  const { positionals: typed, tokens, ...parsed } = parseWords(name, words, flags, refuse)
  const fixed = parameters.length - 1
  const text = typed.slice(fixed).join(' ')
  const positionals = lastIsText && typed.length > fixed ? [...typed.slice(0, fixed), text] : typed
  const values: Readonly<Record<string, unknown>> = parsed.values
  const given = tokens.flatMap(token => (token.kind === 'option' ? [token.name] : []))
  const repeated = given.find((flag, i) => !flags[flag]?.repeats && given.indexOf(flag) !== i)
  if (repeated !== undefined) refuse(`--${repeated} is given twice`)
  for (const [flag, { required }] of Object.entries(flags)) {
    if (required && values[flag] === undefined) refuse(`--${flag} is missing`)
  }
  if (values.apply === true && values['dry-run'] === true) refuse('--apply and --dry-run cannot be combined')
  const missing = (lastIsOptional ? parameters.slice(0, -1) : parameters)[positionals.length]
  if (missing !== undefined) refuse(`${missing} is missing`)
  if (positionals.length > parameters.length) {
    refuse(`unexpected argument ${JSON.stringify(positionals[parameters.length])}`)
  }
  const json = values.json === true
  const booleans = Object.keys(flags).filter(flag => flags[flag]!.type === 'boolean')
  return {
    flags: { ...Object.fromEntries(booleans.map(flag => [flag, false])), ...values } as Call['flags'],
    parameters: Object.fromEntries(parameters.map((parameter, i) => [parameter, positionals[i]!])),
    json
  }
}

/** Joins a flag with a negative number that follows, because the number is the flag's value, not another flag. */
function joinNegativeNumbers(words: readonly string[], flags: Flags): string[] {
  const joined: string[] = []
  for (const word of words) {
    const flag = joined.at(-1) ?? ''
    const isValue = /^-\d/.test(word) && flags[flag.replace(/^--/, '')]?.type === 'string' && flag.startsWith('--')
    if (isValue) joined[joined.length - 1] = `${flag}=${word}`
    else joined.push(word)
  }
  return joined
}

function parseWords(name: string, words: readonly string[], flags: Flags, refuse: (problem: string) => never) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([flag, { type, short, repeats = false }]) => [
      flag,
      { type, multiple: repeats, ...(short && { short }) }
    ])
  )
  try {
    return parseArgs({
      args: joinNegativeNumbers(words, flags),
      options: { ...options, json: { type: 'boolean' } },
      allowPositionals: true,
      tokens: true
    })
  } catch (error) {
    const { code, message } = error as Error & { code: string }
    const flag = /'(-[^'\s=,]*)/.exec(message)?.[1] ?? ''
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      const variable = flag.replace(/^--?/, '').replaceAll('-', '_').toUpperCase()
      if (VARIABLES.includes(variable)) {
        throw new UsageError(`${flag} must be set in the environment: \`${variable}=… spoor ${name}\``)
      }
      const known = [...Object.keys(flags), 'json', 'help'].map(name => `--${name}`)
      throw new UsageError(unknown('flag', flag, known, nearest(flag, known)))
    }
    if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' && message.includes('ambiguous')) {
      const value = words[words.indexOf(flag) + 1] ?? ''
      return refuse(
        `${flag} is followed by ${JSON.stringify(value)}: write a value that begins with a dash as ${flag}=${value}`
      )
    }
    // The first line describes the fault, such as a missing value. The rest is advice.
    return refuse(message.split('\n')[0]!.replace(/\.$/, ''))
  }
}

function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(' ') + 1)
}

function unknown(what: string, typed: string, names: readonly string[], similar: string | undefined): string {
  const hint = similar === undefined ? '' : ` Did you mean ${similar}?`
  return `there is no ${what} ${JSON.stringify(typed)}.${hint} Choose from ${names.join(', ')}`
}

/** Returns one line for an error. Some errors, such as a refused connection, have a code but no message. */
function messageOf(error: unknown, env: NodeJS.ProcessEnv): string {
  if (!(error instanceof Error)) return String(error)
  if (env.LOG_LEVEL === 'debug' || env.LOG_LEVEL === 'trace') return error.stack ?? error.message
  const { code } = error as { code?: unknown }
  const message = error.message || (error instanceof AggregateError ? error.errors.map(String).join('; ') : '')
  return (message || String(code ?? error.name)).replace(/\s*\n\s*/g, ' ')
}

/**
 * Returns a function that writes, one chunk at a time, output that does not fit in memory. The function resolves when
 * more can be written, and rejects if stdout accepts no more data.
 */
function streamTo(output: Output): (bytes: string | Uint8Array) => Promise<void> {
  let isWatched = false
  return bytes => {
    // The write callback receives the same error, but without a listener the error event would end the process.
    if (!isWatched) output.on?.('error', () => {})
    isWatched = true
    return new Promise((resolve, reject) => {
      output.write(bytes, error => {
        if (error) reject(new AdminError(`cannot write to stdout (${error.message}): the output is incomplete`))
        else resolve()
      })
    })
  }
}

/** Returns the name most similar to the typed name; undefined if each differs by more than a third of the letters. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.ceil(typed.length / 3) + 1
  for (const name of names) {
    const distance = editDistance(typed, name)
    if (distance < least) {
      least = distance
      best = name
    }
  }
  return best
}
