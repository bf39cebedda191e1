import { AdminError } from '../../lib/admin/admin-error.ts'
import { createProject, listProjects, type Project } from '../../lib/admin/projects.ts'
import { type Recount, recountProject } from '../../lib/admin/recount.ts'
import { command, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { table } from '../table.ts'
import { relativeTime, size } from '../words.ts'

export const create = command({
  summary: 'Make a project, which holds traces and has keys',
  usage: {
    parameters: ['NAME'],
    flags: {
      slug: { type: 'string', value: 'S', about: 'the name that commands use; made from NAME if not given' },
      description: { type: 'string', value: 'D', about: 'a sentence about the project' },
      account: { type: 'string', value: 'ID', about: 'whose it is; the oldest owner account if not given' },
      'storage-limit': {
        type: 'string',
        value: 'BYTES',
        about: 'what the level in `storage` is measured by; STORAGE_LIMIT_BYTES if not given'
      }
    },
    examples: ['project create "Support bot"', 'project create Evals --slug evals --storage-limit 5000000000 --json']
  },
  async run({ parameters, flags, env, print }) {
    const request = {
      name: parameters.NAME,
      slug: flags.slug,
      description: flags.description,
      accountId: flags.account,
      storageLimitBytes: parseBytes(flags['storage-limit'])
    }
    const project = await withDatabase(env, ({ sql, config }) => createProject(sql, config.storageLimitBytes, request))
    const next = `make a key with \`spoor key create --project ${project.slug}\``
    print(project, `made project ${project.slug} (${project.name}): ${next}`)
  }
})

export const list = command({
  summary: 'List the projects with what they hold',
  usage: { parameters: [], flags: {}, examples: ['project list', 'project list --json'] },
  async run({ env, print }) {
    const projects = await withDatabase(env, ({ sql, config }) => listProjects(sql, config.storageLimitBytes))
    print(projects, projectTable(projects))
  }
})

export const recount = command({
  summary: 'Compare the totals of a project with its traces',
  usage: {
    parameters: ['SLUG'],
    flags: { apply: { type: 'boolean', about: 'repair the totals; without, they are only compared' } },
    details: [
      'The totals are kept with every write; this is for what went around the service. Writes go on meanwhile. The exit',
      'code is 1 where they do not agree and are not repaired.'
    ].join('\n'),
    examples: ['project recount default', 'project recount default --apply']
  },
  async run({ parameters, flags, env, print }) {
    const recount = await withDatabase(env, ({ sql }) => recountProject(sql, parameters.SLUG, flags.apply))
    print(recount, describeRecount(recount))
    if (!recount.agree && !recount.applied) {
      throw new AdminError(`the totals of ${recount.project} do not agree with its traces: see above`)
    }
  }
})

function describeRecount({ rows, counters, agree, applied }: Recount): string {
  const lines = [
    ['its traces', rows.traces, rows.spans, rows.bytes],
    ['its totals', counters.traces, counters.spans, counters.bytes]
  ]
  const advice = applied ? 'The totals are repaired.' : 'They do not agree: give --apply to repair the totals.'
  return `${table(['', 'TRACES', 'SPANS', 'BYTES'], lines, '')}\n${agree ? 'They agree.' : advice}`
}

export function projectTable(projects: readonly Project[]): string {
  const rows = projects.map(p => [
    p.slug,
    p.name,
    p.traceCount,
    p.spanCount,
    `${size(p.estimatedBytes)} of ${size(p.storage.limitBytes)}`,
    p.storage.level,
    relativeTime(p.lastTraceAt)
  ])
  return table(
    ['SLUG', 'NAME', 'TRACES', 'SPANS', 'STORAGE', 'LEVEL', 'LAST TRACE'],
    rows,
    'There are no projects yet: make one with `spoor project create NAME`.'
  )
}

function parseBytes(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const bytes = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return bytes
  throw new UsageError(`--storage-limit must be a whole number of bytes, at least 1, but is ${JSON.stringify(text)}`)
}
