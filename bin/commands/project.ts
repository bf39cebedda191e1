import { createProject, type DescribedProject, listProjects, updateProject } from '../../lib/admin/projects.ts'
import type { ProjectDeletion } from '../../lib/admin/upkeep/project-deletion.ts'
import type { Pruned } from '../../lib/admin/upkeep/pruning.ts'
import type { Recount } from '../../lib/admin/upkeep/recount.ts'
import { AdminError } from '../../lib/admin-error.ts'
import { command, UsageError } from '../command.ts'
import { withDatabase, withKnownSchema } from '../database.ts'
import { readAnswer } from '../terminal/input.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { parseSize } from '../terminal/sizes.ts'
import { table } from '../terminal/table.ts'
import { counted, relativeTime, size, tracesDone } from '../terminal/words.ts'

export const create = command({
  summary: 'Create a project, which has its own traces and keys',
  parameters: ['NAME'],
  flags: {
    slug: { type: 'string', value: 'S', about: 'the name that commands use; derived from NAME by default' },
    description: { type: 'string', value: 'D', about: 'a one-sentence description' },
    account: {
      type: 'string',
      value: 'ID',
      about: 'the account that owns the project; the oldest non-trial account by default'
    },
    'storage-limit': {
      type: 'string',
      value: 'SIZE',
      about: 'the storage limit for warnings, such as 5GB; STORAGE_LIMIT_BYTES by default'
    },
    search: { type: 'boolean', about: 'turn on full-text search for its traces' }
  },
  examples: ['project create "Support bot"', 'project create Evals --slug evals --storage-limit 5GB --json'],
  async run({ parameters, flags, env, print }) {
    const request = {
      name: parameters.NAME,
      slug: flags.slug,
      description: flags.description,
      accountId: flags.account,
      storageLimitBytes: parseSize('storage-limit', flags['storage-limit']),
      search: flags.search
    }
    const project = await withDatabase(env, ({ sql, config }) => createProject(sql, config.storageLimitBytes, request))
    const next = `create a key with \`spoor key create --project ${project.slug}\``
    print(project, `created project ${project.slug} (${project.name}): ${next}`)
  }
})

export const list = command({
  summary: 'List the projects with their sizes',
  examples: ['project list', 'project list --json'],
  async run({ env, print }) {
    const projects = await withDatabase(env, ({ sql, config }) => listProjects(sql, config.storageLimitBytes))
    print(projects, projectTable(projects))
  }
})

export const recount = command({
  summary: "Check a project's totals, charts and span counts against its traces",
  parameters: ['SLUG'],
  flags: { apply: { type: 'boolean', about: 'repair wrong values; by default, the command only checks' } },
  details: [
    "Every write updates the totals, the charts, each trace's span and error counts, and whether the trace is a run.",
    'This command checks them against the stored spans. Use it after an older version has written to the database, or',
    'after manual changes to the database. Writes can continue. The exit code is 1 if values are wrong and were not',
    'repaired.'
  ].join('\n'),
  examples: ['project recount default', 'project recount default --apply'],
  async run({ parameters, flags, env, print }) {
    // Loaded here because --help does not need this module.
    const { areSumsRight, recountProject } = await import('../../lib/admin/upkeep/recount.ts')
    const recount = await withDatabase(env, ({ sql }) => recountProject(sql, parameters.SLUG, flags.apply))
    print(recount, describeRecount(recount))
    if (!recount.agree && !recount.applied) {
      const what = areSumsRight(recount)
        ? `traces in ${recount.project} do not match their spans`
        : `the totals or charts of ${recount.project} do not match its traces`
      throw new AdminError(`${what}: see above`)
    }
  }
})

export const isolate = command({
  summary: 'Give a very large project a separate shard on a cluster',
  parameters: ['SLUG'],
  flags: {
    apply: { type: 'boolean', about: "split the shard; by default, the command only shows the project's shard" }
  },
  details: [
    'Requires a database distributed by `spoor migrate --distributed`. The shard stays on its node; to move it to',
    'another node, use citus_move_shard_placement. Writes to projects that share the shard wait while it is split.'
  ].join('\n'),
  examples: ['project isolate default', 'project isolate default --apply'],
  async run({ parameters: { SLUG: slug }, flags: { apply }, env, print }) {
    const isolation = await withDatabase(env, async ({ sql }) => {
      // Loaded here because --help does not need these modules.
      const [{ isolate }, { requireProject }] = await Promise.all([
        import('../../lib/cluster/shards.ts'),
        import('../../lib/admin/projects.ts')
      ])
      return isolate(sql, await requireProject(sql, slug), apply)
    })
    if (isolation === undefined) {
      throw new AdminError(
        'the trace tables are not distributed, so there are no shards (see `spoor migrate --distributed`)'
      )
    }
    const { shard, isAlone, applied } = isolation
    const shares = isAlone ? 'alone' : 'shared with other projects: --apply gives it its own shard'
    print({ project: slug, ...isolation }, `project ${slug} ${applied ? 'now has' : 'is in'} shard ${shard}, ${shares}`)
  }
})

export const update = command({
  summary: "Change a project's name, slug, account, storage limit, search setting or usage tags",
  parameters: ['SLUG'],
  flags: {
    name: { type: 'string', value: 'NAME', about: 'its name' },
    slug: { type: 'string', value: 'S', about: 'the name that commands use; keys and traces stay unchanged' },
    description: { type: 'string', value: 'D', about: 'a one-sentence description' },
    account: { type: 'string', value: 'ID', about: 'the account that owns the project from now on' },
    'storage-limit': {
      type: 'string',
      value: 'SIZE',
      about: 'the storage limit, such as 5GB, or `default` for STORAGE_LIMIT_BYTES'
    },
    search: {
      type: 'string',
      value: 'on|off',
      about: 'turn full-text search for its traces on or off'
    },
    'usage-tags': {
      type: 'string',
      value: 'KEYS',
      about: 'up to 5 tag keys to sum usage by, separated by commas; empty for none'
    }
  },
  details: [
    'With --search on, the server indexes new traces immediately and older traces in the background.',
    '--search off drops the index. With --usage-tags prompt, the server keeps usage totals for tags such as',
    'prompt:v12, including older traces, so that `GET /api/v1/usage?by=tag:prompt` can cover more than 20,000 traces.'
  ].join('\n'),
  examples: [
    'project update default --name "Support bot" --slug support',
    'project update evals --storage-limit default',
    'project update default --search on',
    'project update default --usage-tags prompt,tenant'
  ],
  async run({ parameters, flags, env, print }) {
    const { name, slug, description, account: accountId, 'storage-limit': limit } = flags
    const storageLimitBytes = limit === 'default' ? null : parseSize('storage-limit', limit)
    const search = parseSwitch(flags.search)
    const usageTags = flags['usage-tags']?.split(',').filter(key => key !== '')
    const changes = { name, slug, description, accountId, storageLimitBytes, search, usageTags }
    const project = await withDatabase(env, ({ sql, config }) =>
      updateProject(sql, config.storageLimitBytes, parameters.SLUG, changes)
    )
    print(project, projectTable([project]))
  }
})

export const remove = command({
  summary: 'Delete a project with its keys and all its traces',
  parameters: ['SLUG'],
  flags: { apply: { type: 'boolean', about: 'delete the project; by default, the command only counts the rows' } },
  details: [
    'Make a backup first. With --apply, the command asks for the slug again, on the terminal or as a line on stdin.',
    'Servers keep running. The command first revokes the keys, waits a few seconds until no server accepts them, and',
    'then deletes the project.'
  ].join('\n'),
  examples: ['project delete evals', 'project delete evals --apply'],
  async run({ parameters: { SLUG: slug }, flags, env, print, progress }) {
    await withKnownSchema(env, async ({ sql }) => {
      // Loaded here because --help does not need this module.
      const { applyProjectDeletion, planProjectDeletion } = await import('../../lib/admin/upkeep/project-deletion.ts')
      const plan = await planProjectDeletion(sql, slug)
      const { traces, spans, bytes, keys } = plan
      if (!flags.apply) {
        const advice = 'Nothing was changed. Add --apply to delete the project.'
        print(
          { project: slug, traces, spans, bytes, keys, applied: false },
          `${describeDeletion(slug, plan)}. ${advice}`
        )
        return
      }
      progress.say(describeDeletion(slug, plan))
      const answer = await readAnswer(`Type the slug to permanently delete the project: `)
      if (answer.trim() !== slug) throw new AdminError(`${JSON.stringify(answer)} is not the slug: nothing was changed`)
      const onProgress = (pruned: Pruned) => progress.show(() => tracesDone(pruned.traces, traces))
      const pruned = await interruptible(signal => applyProjectDeletion(sql, slug, plan, { onProgress, signal }))
      progress.clear()
      print(
        { project: slug, traces: pruned.traces, spans: pruned.spans, keys, applied: true },
        `project ${slug} is deleted, with ${counted(pruned.traces, 'trace')}`
      )
    })
  }
})

const describeDeletion = (slug: string, { traces, spans, bytes, keys }: ProjectDeletion): string =>
  `project ${slug} has ${counted(traces, 'trace')}, ${counted(spans, 'span')} (${size(bytes)}) and ${counted(keys, 'key')}`

function describeRecount({ rows, counters, wrongDays, wrongTraces, agree, applied }: Recount): string {
  const lines = [
    ['its traces', rows.traces, rows.spans, rows.bytes],
    ['its totals', counters.traces, counters.spans, counters.bytes]
  ]
  const advice = applied ? 'They were repaired.' : 'They do not match. Add --apply to repair them.'
  const days = wrongDays.length === 0 ? '' : `\nThe charts are wrong on ${counted(wrongDays.length, 'day')}.`
  const { count: wrong, ids } = wrongTraces
  const named = `${ids.join(', ')}${wrong > ids.length ? ', …' : ''}`
  const traces =
    wrong === 0 ? '' : `\nThe span count, error count or run flag is wrong for ${counted(wrong, 'trace')}: ${named}.`
  return `${table(['', 'TRACES', 'SPANS', 'BYTES'], lines, '')}${days}${traces}\n${agree ? 'They match.' : advice}`
}

export function projectTable(projects: readonly DescribedProject[]): string {
  const rows = projects.map(p => [
    p.slug,
    p.name,
    p.traceCount,
    p.spanCount,
    `${size(p.estimatedBytes)} of ${size(p.storage.limitBytes)}`,
    p.storage.level,
    p.search ? 'on' : 'off',
    p.retention === null ? '-' : `${p.retention.days}d`,
    relativeTime(p.lastTraceAt)
  ])
  return table(
    ['SLUG', 'NAME', 'TRACES', 'SPANS', 'STORAGE', 'LEVEL', 'SEARCH', 'RETENTION', 'LAST TRACE'],
    rows,
    'There are no projects yet: create one with `spoor project create NAME`.'
  )
}

function parseSwitch(text: string | undefined): boolean | undefined {
  if (text === undefined || text === 'on' || text === 'off') return text === undefined ? undefined : text === 'on'
  throw new UsageError(`--search must be on or off, not ${JSON.stringify(text)}`)
}
