import type { Static } from 'typebox'
import type { KeyDescription, Project } from '../../lib/schema/output.ts'
import { OUTPUT_FLAGS, printAnswer } from '../asking/output.ts'
import { SERVER_FLAGS, withAsker } from '../asking/place.ts'
import { command } from '../command.ts'
import type { Line } from '../terminal/lines.ts'
import { counted, relativeTime, size } from '../terminal/words.ts'

type Key = Static<typeof KeyDescription>
interface Described {
  readonly key: Key
  /** Null if the key may not read. */
  readonly project: Static<typeof Project> | null
}

export default command({
  summary: 'Show the key in SPOOR_API_KEY and its project',
  flags: { ...SERVER_FLAGS, ...OUTPUT_FLAGS },
  examples: ['key whoami', 'key whoami --url https://spoor.example.com --json'],
  async run(call) {
    // Loaded here because --help does not need this module.
    const { parseExact, stringifyExact } = await import('../../lib/trace/json/exact-json.ts')
    const text = await withAsker(call.flags, call.env, async asker => {
      const key = await asker.ask('GET', '/api/v1/key')
      const mayRead = (JSON.parse(key) as Key).scopes.includes('traces:read')
      const project = mayRead ? await asker.ask('GET', '/api/v1/project') : 'null'
      return stringifyExact({ key: parseExact(key), project: parseExact(project) })
    })
    await printAnswer<Described>(call, text, lines)
  }
})

function lines({ key, project }: Described): Line[] {
  const facts: [string, string][] = [
    ['key', key.keyId],
    ['scopes', key.scopes.join(', ')],
    ['environment', key.environment ?? 'none'],
    ['expires', key.expiresAt === null ? 'never' : relativeTime(key.expiresAt)],
    ['project', project === null ? key.projectId : `${project.slug} (${project.name})`],
    ...(project === null
      ? []
      : ([
          ['holds', `${counted(project.traceCount, 'trace')}, ${counted(project.spanCount, 'span')}`],
          ['storage', `${size(project.estimatedBytes)} of ${size(project.storage.limitBytes)}`],
          ['last trace', relativeTime(project.lastTraceAt)]
        ] as [string, string][]))
  ]
  return facts.map(([name, value]) => [{ text: name.padEnd(13), style: 'dim' }, value])
}
