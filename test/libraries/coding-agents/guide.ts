/** The settings of a coding agent, as a reader copies them from the guide's section "Coding agents". */
import { passageOf, unescapeHtml } from '../../plugins/docs/guide.ts'

export interface Settings {
  /** Commands for the shell that starts the agent, one per line. */
  readonly shell: string
  /** Contents of files, by the files' paths below the home folder. */
  readonly files: Readonly<Record<string, string>>
}

/** Matches a path below the home folder, or a block of code. */
const PART = /<code>~\/([^<]+)<\/code>|<code data-language="(\w+)">([\s\S]*?)<\/code>/g

export function settingsOf(html: string, agent: string): Settings {
  let shell = ''
  let path: string | undefined
  const files: Record<string, string> = {}
  for (const [, named, language, code = ''] of passageOf(html, 'coding-agents', agent).matchAll(PART)) {
    if (named !== undefined) path = named
    else if (language === 'console') shell += `${unescapeHtml(code)}\n`
    else if (path !== undefined) files[path] = unescapeHtml(code)
  }
  if (shell === '' && path === undefined) throw new Error(`the guide has no settings of ${agent}`)
  return { shell, files }
}
