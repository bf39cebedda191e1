/** Two groups of traces side by side, such as those of two versions of a prompt. The address names the groups. */

import { useMemo } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import { LineChart } from '../charts/charts.tsx'
import { Figure } from '../charts/figure.tsx'
import { hasSteps, rateOf, stepsBetween } from '../charts/series.ts'
import type { GroupPair } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { type ListQuery, withTime, writeQuery } from '../state/list-query.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { readOverview, readShown, toCounted, writeOverview } from '../state/overview-query.ts'
import { preferences, presentTime } from '../state/preferences.ts'
import { pathOf, readParameters } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { COUNTED_RANGES } from '../state/time-range.ts'
import {
  ANY_TAG,
  fieldName,
  groupFilters,
  readSplitField,
  readTraceGroup,
  SPLIT_FIELDS,
  type TraceGroupName,
  withParameters,
  writeTraceGroup
} from '../state/trace-group.ts'
import { ButtonLink } from '../ui/controls.tsx'
import { ChosenFilter, FilterBar } from '../ui/filter-bar.tsx'
import { formatCost, formatDuration, formatPercent } from '../ui/format.ts'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { Pending } from '../ui/problem.tsx'
import { SplitField } from '../ui/split-field.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime, type Zone } from '../ui/time.ts'
import { PairExamples } from './examples.tsx'
import { MetricsTable } from './metrics-table.tsx'
import { ScorePairs } from './score-pairs.tsx'

export function GroupsPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const { filters, ...time } = readOverview(search)
  // Two groups cannot be compared by status, because a status excludes all failures, or everything else.
  const { status: _, ...shared } = filters
  const query: ListQuery = { ...time, filters: shared }
  const given = readParameters(search, ['a', 'b'])
  const [a, b] = [given.a, given.b].map(text => (text === undefined ? undefined : readTraceGroup(text)))
  const by = a?.by ?? b?.by ?? readSplitField(search) ?? 'model'
  const asked = (more: object) => toCounted(query, presentTime(), { ...more })
  const names = a === undefined || b === undefined ? undefined : { a: writeTraceGroup(a), b: writeTraceGroup(b) }
  const key = `${slug} ${writeOverview(query, [])} ${zone}`
  const loaded = useLoad(names && `${key} ${names.a} ${names.b}`, signal =>
    read(at('p/:slug/group-pair', { slug }, asked(names ?? {})), { signal })
  )
  const values = useLoad(by === ANY_TAG ? undefined : `${key} ${by}`, async signal => {
    const split = await read(at('p/:slug/series', { slug }, asked({ by })), { signal })
    return hasSteps(split) ? [] : split.groups.flatMap(({ key }) => key ?? [])
  })
  const facets = useRead(at('p/:slug/facets', { slug })).value
  useArrival(loaded.value !== undefined || loaded.error !== undefined || names === undefined)
  const addressOf = (next: ListQuery, more: Readonly<Record<string, string>>) =>
    withParameters(writeOverview(next, readShown(search)), more)
  const groups = { ...(a && { a: writeTraceGroup(a) }), ...(b && { b: writeTraceGroup(b) }) }
  const choose = (side: 'a' | 'b', value: string) => {
    const { [side]: _, ...other } = groups
    goSearch(addressOf(query, { by, ...other, ...(value !== '' && { [side]: writeTraceGroup({ by, key: value }) }) }))
  }
  return (
    <div class="list-page groups-page">
      <div class="head">
        <h1 tabIndex={-1}>Compare groups</h1>
        <div class="head-end">
          <ButtonLink href={`${pathOf({ page: 'overview', slug })}${addressOf(query, { by })}`}>Overview</ButtonLink>
        </div>
      </div>
      <div class="filters">
        <search class="is-open" aria-label="Choose two groups">
          <SplitField
            {...{ slug, label: 'Compare by', by, fields: SPLIT_FIELDS.filter(each => each !== 'step') }}
            set={next => goSearch(addressOf(query, { by: next }))}
          />
          {(['a', 'b'] as const).map(side => (
            <ChosenFilter
              key={side}
              label={side.toUpperCase()}
              any="choose…"
              value={(side === 'a' ? a : b)?.key}
              values={[...(values.value ?? []), (side === 'a' ? a : b)?.key]}
              set={value => choose(side, value)}
            />
          ))}
        </search>
      </div>
      <FilterBar
        query={query}
        facets={facets}
        only={['name', 'model', 'env']}
        ranges={COUNTED_RANGES}
        change={next => goSearch(addressOf(next, { by, ...groups }))}
      />
      <IgnoredParameters names={filters.status === undefined ? [] : ['status']} />
      {names === undefined ? (
        <p class="empty">
          Choose a field and two of its values, such as two models, or two versions of a prompt (the tags prompt:v12 and
          prompt:v13).
        </p>
      ) : (
        <Pending of={loaded} what="the groups" />
      )}
      {loaded.value !== undefined && a !== undefined && b !== undefined && (
        <Pair {...{ slug, query, zone, a, b }} pair={loaded.value} tables={readShown(search)} addressOf={addressOf} />
      )}
    </div>
  )
}

interface PairProps {
  readonly slug: string
  readonly pair: GroupPair
  readonly query: ListQuery
  readonly zone: Zone
  readonly a: TraceGroupName
  readonly b: TraceGroupName
  readonly tables: readonly string[]
  addressOf(query: ListQuery, more: Readonly<Record<string, string>>): string
}

function Pair({ slug, pair, query, zone, a, b, tables, addressOf }: PairProps) {
  const list = pathOf({ page: 'traces', slug })
  const time = writeQuery(withTime(query, stepsBetween(pair)))
  const hrefOf = ({ by, key }: TraceGroupName, more: object = {}) =>
    withParameters(`${list}${time}`, { ...groupFilters(by, key), ...more })
  const labels = { a: labelOf(a, b), b: labelOf(b, a) }
  const axis = useMemo(() => timeAxis(pair, zone), [pair, zone])
  const chart = (
    name: string,
    title: string,
    unit: 'share' | 'ms' | 'usd',
    format: (value: number) => string,
    of: (side: GroupPair['a']) => readonly (number | null)[]
  ) => (
    <Figure
      title={title}
      asTable={tables.includes(name)}
      setAsTable={on => {
        const shown = on ? [...tables, name] : tables.filter(each => each !== name)
        const groups = { a: writeTraceGroup(a), b: writeTraceGroup(b) }
        goSearch(withParameters(writeOverview(query, shown), groups), { replace: true })
      }}
      chart={LineChart}
      of={{
        title,
        axis,
        unit,
        format,
        series: [
          { name: labels.a, tone: 1, values: of(pair.a) },
          { name: labels.b, tone: 2, values: of(pair.b) }
        ],
        href: at => `${list}${writeQuery(withTime(query, stepsBetween(pair, at, at)))}`,
        zoom: (first, last) =>
          goSearch(
            addressOf(withTime(query, stepsBetween(pair, first, last)), {
              a: writeTraceGroup(a),
              b: writeTraceGroup(b)
            })
          )
      }}
    />
  )
  return (
    <>
      {pair.since !== null && (
        <p class="soft">
          The period has more than 20,000 traces. Only traces since {shortTime(pair.since, zone, new Date())} are
          compared.
        </p>
      )}
      <MetricsTable pair={pair} labels={labels} hrefs={{ a: hrefOf(a), b: hrefOf(b) }} />
      <div class="charts">
        {chart('rate', 'Error rate', 'share', formatPercent, ({ traces, errors }) =>
          traces.map((count, i) => rateOf(errors[i]!, count))
        )}
        {chart('latency', 'p50 duration', 'ms', formatDuration, ({ p50 }) => p50)}
        {chart('cost', 'Cost per trace', 'usd', formatCost, ({ costUsd, priced }) =>
          costUsd.map((cost, i) => (priced[i] === 0 ? null : cost / priced[i]!))
        )}
      </div>
      <ScorePairs scores={pair.scores} labels={labels} />
      <PairExamples
        slug={slug}
        zone={zone}
        sides={[
          { label: labels.a, traces: pair.a.examples, href: hrefOf(a), failed: hrefOf(a, { status: 'error' }) },
          { label: labels.b, traces: pair.b.examples, href: hrefOf(b), failed: hrefOf(b, { status: 'error' }) }
        ]}
      />
    </>
  )
}

/** Groups of the same field are named by their values alone. */
const labelOf = ({ by, key }: TraceGroupName, other: TraceGroupName): string =>
  by === other.by ? asLine(key, 40) : `${fieldName(by)} ${asLine(key, 40)}`
