/**
 * A block of a long text whose elements exist only near the view. Away from it the block keeps its height, so nothing
 * moves, and what the reader opened in it, so it looks the same when they come back.
 */
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** How far above and below the view is near. */
const NEAR = '1200px 0px'

interface OffscreenProps {
  readonly children: ComponentChildren
  /** How high it is, as long as it was not drawn; undefined: it is drawn at once. */
  readonly estimate?: number
  /** It is drawn wherever it is. */
  readonly held?: boolean
}

export function Offscreen({ children, estimate, held = false }: OffscreenProps) {
  const box = useRef<HTMLDivElement>(null)
  const kept = useRef<Kept>(new Map())
  const [far, setFar] = useState<number | undefined>(estimate)
  useLayoutEffect(() => watch(box.current!, setFar), [])
  const isDrawn = held || far === undefined
  return (
    <Keeping.Provider value={kept.current}>
      <div class="offscreen" ref={box} style={isDrawn ? '' : `block-size: ${far}px`}>
        {isDrawn && children}
      </div>
    </Keeping.Provider>
  )
}

type Kept = Map<string, unknown>
export const Keeping = createContext<Kept | undefined>(undefined)

/** A state that outlives the time that its part is far away. `name` is its own within the part. */
export function useKept<T>(name: string, initial: T): readonly [T, (value: T) => void] {
  const kept = useContext(Keeping)
  const [value, setValue] = useState((kept?.get(name) ?? initial) as T)
  return [
    value,
    next => {
      kept?.set(name, next)
      setValue(next)
    }
  ]
}

/** The stored state of the parts within a part. The state survives while the outer part is far from the view. */
export function useKeeping(name: string): Kept {
  const outer = useContext(Keeping)
  const own = useRef<Kept>(undefined)
  own.current ??= (outer?.get(name) as Kept | undefined) ?? new Map()
  outer?.set(name, own.current)
  return own.current
}

type Tell = (height: number | undefined) => void
const told = new WeakMap<Element, Tell>()
/** One for each element that scrolls; the page's own is under null. */
const observers = new Map<Element | null, IntersectionObserver>()

function watch(element: HTMLElement, tell: Tell): () => void {
  const root = scrollerOf(element)
  let observer = observers.get(root)
  if (observer === undefined) {
    observer = new IntersectionObserver(look, { root, rootMargin: NEAR })
    observers.set(root, observer)
    for (const old of observers.keys()) if (old !== null && !old.isConnected) observers.delete(old)
  }
  told.set(element, tell)
  observer.observe(element)
  return () => observer.unobserve(element)
}

function look(entries: readonly IntersectionObserverEntry[]): void {
  for (const { target, isIntersecting, boundingClientRect } of entries) {
    if (target.isConnected) told.get(target)?.(isIntersecting ? undefined : boundingClientRect.height)
  }
}

function scrollerOf(element: HTMLElement): Element | null {
  for (let each = element.parentElement; each !== null; each = each.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(each).overflowY)) return each
  }
  return null
}
