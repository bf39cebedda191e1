import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import type { ProjectAnswer } from '../contract.ts'
import { at, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { loadSession, may } from '../state/session.ts'
import { tell } from '../state/toasts.ts'
import { Field, Form } from '../ui/dialog.tsx'
import { formatBytes, formatCount, formatLimit, formatPercent, NONE } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { fullTime, type Zone } from '../ui/time.ts'

export function ProjectSettings({ slug, zone }: { slug: string; zone: Zone }) {
  const path = at('p/:slug', { slug })
  const { value, error, again } = useRead(path)
  const [typed, setTyped] = useState<string | undefined>()
  if (error !== undefined) return <Problem error={error} again={again} />
  if (value === undefined) return <Waiting what="the project" />
  const { estimatedBytes, storage } = value
  const name = typed ?? value.name
  const share = storage.limitBytes === 0 ? 1 : estimatedBytes / storage.limitBytes
  return (
    <>
      {may(slug, 'owner') && (
        <section class="short">
          <Form
            submit="Rename"
            disabled={name.trim() === '' || name.trim() === value.name}
            onSubmit={async () => {
              await write('PATCH', path, { body: { name: name.trim() } })
              tell('Renamed')
              await loadSession()
              again()
            }}
          >
            <Field label="Name" required maxLength={200} value={name} set={setTyped} />
          </Form>
        </section>
      )}
      <section class="short">
        <h2>Storage</h2>
        <p>
          {formatBytes(estimatedBytes)} of {formatLimit(storage.limitBytes)} ({formatPercent(share)})
          {storage.level !== 'ok' && (
            <b>
              {' '}
              {storage.level === 'critical' ? 'Full' : 'Nearly full'}: recording continues, but delete traces that you
              no longer need.
            </b>
          )}
        </p>
        <div class={`storage is-${storage.level}`} aria-hidden="true">
          <span style={{ inlineSize: `${Math.min(100, share * 100)}%` }} />
        </div>
      </section>
      <section class="short">
        <h2>Full-text search</h2>
        <p>
          {value.search === null
            ? 'Search is off: you can filter traces only by their fields. Turn it on to find words in traces and model calls. The index adds about 10 % to disk use.'
            : onState(value.search, zone)}
        </p>
        {may(slug, 'owner') ? (
          <Form
            danger={value.search !== null}
            submit={value.search === null ? 'Turn on' : 'Turn off and delete the index'}
            onSubmit={async () => {
              await write('PATCH', path, { body: { search: value.search === null } })
              await loadSession()
              again()
            }}
          >
            {null}
          </Form>
        ) : (
          <p class="soft">Owners can turn it {value.search === null ? 'on' : 'off'}.</p>
        )}
      </section>
      {value.unkept.length > 0 && <Unkept unkept={value.unkept} zone={zone} />}
      <section class="short">
        <h2>Details</h2>
        <dl class="plain-facts">
          <dt>Slug</dt>
          <dd>
            <code>{value.slug}</code>
          </dd>
          <dt>Traces</dt>
          <dd>{formatCount(value.traceCount)}</dd>
          <dt>Spans</dt>
          <dd>{formatCount(value.spanCount)}</dd>
          <dt>Last trace</dt>
          <dd>{value.lastTraceAt === null ? NONE : fullTime(value.lastTraceAt, zone)}</dd>
          <dt>Retention</dt>
          <dd>{retentionText(value.retention)}</dd>
          <dt>Created</dt>
          <dd>{fullTime(new Date(value.createdAt).toISOString(), zone)}</dd>
        </dl>
      </section>
    </>
  )
}

/** Describes how long traces are kept. Only the command line can change it. */
function retentionText(retention: ProjectAnswer['retention']): string {
  if (retention === null) return 'traces are kept indefinitely'
  const { days, keepsScored, keepsTags } = retention
  const kept = [...(keepsScored ? ['scored traces'] : []), ...keepsTags.map(tag => `traces tagged ${tag}`)]
  const longer = kept.length === 0 ? '' : `; ${kept.join(' and ')} indefinitely`
  return `${formatCount(days)} ${days === 1 ? 'day' : 'days'}${longer}`
}

function Unkept({ unkept, zone }: { unkept: ProjectAnswer['unkept']; zone: Zone }) {
  return (
    <section class="short">
      <h2>Received but not stored</h2>
      <p>
        Log records are kept if they name a span, or a session and a coding agent's call. Metrics are not kept. To stop
        sending them, set <code>OTEL_LOGS_EXPORTER=none</code> or <code>OTEL_METRICS_EXPORTER=none</code>.
      </p>
      <dl class="plain-facts">
        {unkept.map(({ signal, name, count, firstAt }) => (
          <Fragment key={`${signal} ${name}`}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              {formatCount(count)} {signal === 'logs' ? 'log records' : 'metrics'} since {fullTime(firstAt, zone)}
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}

function onState(
  { backTo, isFilled, waiting, partlyIndexed }: NonNullable<ProjectAnswer['search']>,
  zone: Zone
): string {
  const back = backTo === null ? 'earlier traces are not yet' : `traces back to ${fullTime(backTo, zone)} are`
  const last = waiting === 0 ? '' : ` ${formatCount(waiting)} new ones are being indexed.`
  const partly =
    partlyIndexed === 0 ? '' : ` ${formatCount(partlyIndexed)} are searchable only by name, input and output.`
  return `On: ${isFilled ? 'all traces are' : back} searchable.${last}${partly}`
}
