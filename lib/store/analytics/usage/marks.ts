/**
 * A row of usage_sums with part `m` marks a field's sums of an hour or day as complete. Its column `traces` contains
 * the version of the rollups from whose traces the sums were computed: the sum of the numbers of the transactions that
 * last wrote them. A different version shows that a trace has changed since, even if a server of the previous version
 * has folded the change, which does not delete the sums.
 */
import { LEVELS } from '../../../rollups/levels.ts'
import type { UsageInterval } from '../../../rollups/usage.ts'

/** Returns an SQL condition: `u` marks sums that belong to the version in `row`, which is a row of rollupVersions. */
export const isMarkOf = (length: 'hour' | 'day', field: string, row: string): string =>
  `u.project_id = $1::int and u.length = '${length[0]}' and u.start = ${row}.start and u.field = ${field}
    and u.part = 'm' and u.list = 0 and u.traces = ${row}.version`

/**
 * Returns SQL for the version and number of traces of each hour or day of project $1. `condition` is a condition on the
 * start.
 */
export const rollupVersions = (length: 'hour' | 'day', condition: string): string =>
  `select project_id, start, sum(traces) as traces, sum(xmin::text::bigint) as version from rollups
  where project_id = $1::int and level = '${LEVELS[length].environment}' and ${condition} and within in (
    select hashtextextended(coalesce(environment, ''), 0) from trace_families where project_id = $1::int
  ) group by project_id, start`

/** Returns SQL for the milliseconds from 1970 to a time. */
export const msOf = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`

/** Returns SQL for the start of the hour or day that contains a time. */
export const startInSql = (interval: UsageInterval, time: string): string =>
  interval === 'none' ? 'null::timestamptz' : `date_bin('1 ${interval}', ${time}, '2000-01-01T00:00:00Z')`
