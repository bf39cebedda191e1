import { LongText } from '../content/text-view.tsx'
import type { Outline, Score } from '../contract.ts'
import { at, errorMessageOf, write } from '../state/api.ts'
import { may } from '../state/session.ts'
import { tell } from '../state/toasts.ts'
import { Button, Icon, LinkButton } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { formatScore } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'

interface Props {
  readonly slug: string
  readonly outline: Outline
  /** If undefined, lists the scores of the trace and all its spans. */
  readonly spanId: string | undefined
  readonly zone: Zone
  annotate(): void
  select(key: string): void
  changed(): void
}

const SOURCES: Readonly<Record<Score['source'], string>> = { api: 'API', annotation: 'annotation', eval: 'evaluator' }

export function TraceScores({ slug, outline, spanId, zone, annotate, select, changed }: Props) {
  const { trace, spans, scores } = outline
  const shown = spanId === undefined ? scores : scores.filter(score => score.spanId === spanId)
  const now = new Date()
  const nameOf = (id: string) => spans.find(span => span.id === id)?.name ?? id
  const remove = async (score: Score) => {
    try {
      await write(
        'DELETE',
        at('p/:slug/traces/:traceId/scores/:scoreId', { slug, traceId: trace.id, scoreId: score.id })
      )
      tell(`Score ${score.name} deleted`)
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
    changed()
  }
  return (
    <div class="score-list">
      {may(slug, 'member') && (
        <p>
          <Button onClick={annotate}>
            {spanId === undefined ? (
              <>
                Annotate <kbd>a</kbd>
              </>
            ) : (
              'Annotate this span'
            )}
          </Button>
        </p>
      )}
      {shown.length === 0 && (
        <p class="soft">{spanId === undefined ? 'No scores yet.' : 'This span has no scores yet.'}</p>
      )}
      <ul>
        {shown.map(score => (
          <li key={score.id}>
            <p class="score-line">
              <span class="soft">{score.name}</span> <b>{asLine(formatScore(score.value), 200)}</b>
              {mayDelete(slug, score) && (
                <button
                  type="button"
                  class="plain"
                  aria-label={`Delete the score ${score.name}`}
                  title="Delete"
                  onClick={() => remove(score)}
                >
                  <Icon name="close" />
                </button>
              )}
            </p>
            {score.comment !== null && score.comment !== '' && (
              <LongText text={score.comment} rendered={false} name="comment" />
            )}
            <p class="soft small">
              {SOURCES[score.source] ?? score.source}
              {score.author && ` by ${asLine(score.author, 80)}`}
              {score.evaluatorId !== null && ` ${asLine(score.evaluatorId, 60)}`} ·{' '}
              <Moment iso={score.createdAt} zone={zone} now={now} />
              {spanId === undefined && score.spanId !== null && (
                <>
                  {' '}
                  · on <LinkButton onClick={() => select(score.spanId!)}>{asLine(nameOf(score.spanId), 60)}</LinkButton>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Members may delete their own annotations, and owners may delete any score. The server enforces this rule. */
function mayDelete(slug: string, score: Score): boolean {
  if (may(slug, 'owner')) return true
  return score.source === 'annotation' && score.own !== false && may(slug, 'member')
}
