/** Searches a trace. The texts of all spans are fetched once and searched in a worker. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Outline } from '../contract.ts'
import { errorMessageOf } from '../state/api.ts'
import { loadPart } from '../state/lazy-part.ts'
import { Icon } from '../ui/controls.tsx'
import { formatCounted } from '../ui/format.ts'
import type { Finder } from './finder.ts'

interface Props {
  readonly slug: string
  readonly outline: Outline
  readonly text: string
  setText(text: string): void
  /** Receives the number of hits per span, and the duration of the search in ms. */
  found(hits: ReadonlyMap<string, number> | undefined, ms: number): void
  next(by: 1 | -1): void
}

const TYPING_MS = 200
const loadFinder = () => loadPart(() => import('./finder.ts'))

export function SearchBox({ slug, outline, text, setText, found, next }: Props) {
  const finder = useRef<Finder | undefined>(undefined)
  const [said, setSaid] = useState('')
  useEffect(() => () => finder.current?.end(), [])
  useEffect(() => {
    if (text === '') {
      setSaid('')
      found(undefined, 0)
      return
    }
    const stop = new AbortController()
    const look = async () => {
      finder.current ??= new (await loadFinder()).Finder()
      const answer = await finder.current.search(slug, outline, text, stop.signal, () => setSaid('loading…'))
      if (answer === undefined) return
      const { hits, ms } = answer
      const total = hits.reduce((sum, { count }) => sum + count, 0)
      setSaid(
        total === 0
          ? 'no matches'
          : `${formatCounted(total, 'match', 'matches')} in ${formatCounted(hits.length, 'span')}`
      )
      found(new Map(hits.map(({ id, count }) => [id, count])), ms)
    }
    const timer = setTimeout(() => {
      look().catch(error => {
        if (!stop.signal.aborted) setSaid(errorMessageOf(error))
      })
    }, TYPING_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text, outline.trace.id, outline.version])
  return (
    <search class="find">
      <Icon name="search" />
      <input
        id="find"
        type="search"
        value={text}
        placeholder="Find in this trace"
        aria-label="Find in this trace"
        title="Text, or a regular expression as /…/"
        spellcheck={false}
        autocomplete="off"
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            event.preventDefault()
            next(event.shiftKey ? -1 : 1)
          }
          if (event.key === 'Escape') {
            event.preventDefault()
            setText('')
            document.getElementById('spans')?.focus()
          }
        }}
      />
      <span class="soft said" role="status">
        {said}
      </span>
    </search>
  )
}
