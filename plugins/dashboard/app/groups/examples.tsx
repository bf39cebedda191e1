/** Some traces of each of two groups: the newest failed traces and the newest others. */

import type { GroupPair } from '../contract.ts'
import { pathOf } from '../state/route.ts'
import { ButtonLink, StatusIcon } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { formatDuration } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'

type Example = GroupPair['a']['examples'][number]

interface Side {
  readonly label: string
  readonly traces: readonly Example[]
  /** Address of the list of the group's traces. */
  readonly href: string
  /** Address of the list of its failed traces. */
  readonly failed: string
}

export function PairExamples({ slug, zone, sides }: { slug: string; zone: Zone; sides: readonly [Side, Side] }) {
  return (
    <section class="pair-examples" aria-labelledby="pair-examples">
      <h2 id="pair-examples">Examples</h2>
      <div>
        {sides.map(({ label, traces, href, failed }, i) => (
          <section key={href} aria-label={label}>
            <h3>
              {'AB'[i]}: {label}
            </h3>
            {traces.length === 0 && <p class="soft">No traces.</p>}
            <ul>
              {traces.map(trace => (
                <ExampleTrace key={trace.id} {...{ slug, zone, trace }} />
              ))}
            </ul>
            <p class="buttons">
              <ButtonLink href={href}>All traces</ButtonLink>
              <ButtonLink href={failed}>Failed traces</ButtonLink>
            </p>
          </section>
        ))}
      </div>
    </section>
  )
}

function ExampleTrace({ slug, zone, trace }: { slug: string; zone: Zone; trace: Example }) {
  const { id, name, status, startedAt, durationMs, inputPreview, outputPreview, firstError } = trace
  const error = firstError && [firstError.step, firstError.type, firstError.message].filter(Boolean).join(': ')
  return (
    <li>
      <p>
        <StatusIcon status={status} quiet />{' '}
        <a href={pathOf({ page: 'trace', slug, traceId: id })}>{asLine(name, 80)}</a>{' '}
        <span class="soft small">
          <Moment iso={startedAt} zone={zone} />, {formatDuration(durationMs)}
        </span>
      </p>
      {inputPreview !== null && <p class="clip">{asLine(inputPreview, 160)}</p>}
      {error !== null ? (
        <p class="clip is-error">{asLine(error, 160)}</p>
      ) : (
        outputPreview !== null && <p class="clip soft">{asLine(outputPreview, 160)}</p>
      )}
    </li>
  )
}
