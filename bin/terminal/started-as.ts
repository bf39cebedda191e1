/**
 * Decides how messages name the command `spoor`, so that the commands they print can be pasted: as `npx spoor`, by its
 * path, or as a command that runs in its container.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, isAbsolute, join, relative } from 'node:path'

export interface StartedAs {
  /** The words that precede a command's name. */
  readonly command: string
  /** Whether these words provide the server's environment, as in a container. */
  readonly hasEnvironment: boolean
}

export const PLAIN: StartedAs = { command: 'spoor', hasEnvironment: false }

/** `script` is the path of the program as it was started, before links are resolved. */
export function startedAs(script: string, env: NodeJS.ProcessEnv, folder = process.cwd()): StartedAs {
  const given = env.SPOOR_COMMAND?.trim()
  // Set by compose files and charts, because a container cannot know how people reach it.
  if (given) return { command: given, hasEnvironment: true }
  return { command: commandOf(script, env, folder), hasEnvironment: false }
}

function commandOf(script: string, env: NodeJS.ProcessEnv, folder: string): string {
  const fetched = npxPackage(script)
  // In a clone, npx runs the clone's own package.
  if (fetched !== undefined) return isInside(folder, fetched) ? 'npx spoor' : `npx ${quoted(fetched)}`
  const program = launcherOf(script) ?? script
  // Without npm, the shell would not find what npm adds to the PATH of its scripts.
  if (isFirstInPath(program, env.PATH ?? '')) return 'spoor'
  if (env.npm_command) return 'npx spoor'
  const path = quoted(shortest(program, folder))
  return program.endsWith('.js') ? `node ${path}` : path
}

/**
 * Returns the package that npx fetched to run this program, such as `spoor@1.0.0` or the path of an archive: npx
 * records it in the package.json of the folder into which it installs.
 */
function npxPackage(script: string): string | undefined {
  const [root] = script.match(/^.*\/_npx\/[^/]+(?=\/)/) ?? []
  if (root === undefined) return undefined
  try {
    return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))._npx?.packages?.[0] ?? 'spoor'
  } catch {
    return 'spoor'
  }
}

/** Returns the launcher of the archive with its own Node (.ci/tarball), which started this program. */
function launcherOf(script: string): string | undefined {
  const [root] = script.match(/^.*(?=\/app\/build\/bin\/spoor\.js$)/) ?? []
  const launcher = root === undefined ? undefined : join(root, 'bin/spoor')
  return launcher !== undefined && existsSync(launcher) ? launcher : undefined
}

/** Whether the shell finds this program under the name `spoor`. */
function isFirstInPath(program: string, path: string): boolean {
  const folders = path.split(delimiter).filter(each => isAbsolute(each) && !/\/node_modules\/\.bin$/.test(each))
  const first = folders.map(each => join(each, 'spoor')).find(existsSync)
  return first !== undefined && existsSync(program) && realpathSync(first) === realpathSync(program)
}

/** Returns the path relative to the folder if it is shorter and the shell treats it as a path. */
function shortest(program: string, folder: string): string {
  const inside = relative(folder, program)
  return folder !== '/' && isInside(program, folder) && inside.includes('/') ? inside : program
}

const isInside = (path: string, folder: string): boolean =>
  isAbsolute(folder) && (path === folder || path.startsWith(folder.replace(/\/?$/, '/')))

const quoted = (path: string): string => (/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

/** Replaces `spoor` where it begins a command of an example, such as after a pipe or variables. */
export const nameInExample = (example: string, command: string): string =>
  example.replace(/(?<=^(?:[A-Z_]+=\S+ )*|\| (?:[A-Z_]+=\S+ )*|\$\()spoor(?=\s)/g, () => command)
