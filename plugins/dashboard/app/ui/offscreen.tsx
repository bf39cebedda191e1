/**
 * A block of long content whose elements exist only near the viewport. Farther away, the block keeps its height and its
 * state, so that nothing moves and the block looks the same when rendered again.
 */
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Distance above and below the viewport within which blocks are rendered. */
const NEAR = '1200px 0px'

interface OffscreenProps {
  readonly children: ComponentChildren
  /** Estimated height in px until the first rendering; if undefined, the block is rendered immediately. */
  readonly estimate?: number
  /** Whether to render the block regardless of its position. */
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

/** State that is kept while its block is not rendered. `name` must be unique within the block. */
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

/** Returns the stored state of nested blocks. The state is kept while the outer block is not rendered. */
export function useKeeping(name: string): Kept {
  const outer = useContext(Keeping)
  const own = useRef<Kept>(undefined)
  own.current ??= (outer?.get(name) as Kept | undefined) ?? new Map()
  outer?.set(name, own.current)
  return own.current
}

type Tell = (height: number | undefined) => void
const told = new WeakMap<Element, Tell>()
/** One observer per scrolling element; the key null stands for the page itself. */
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

/** Blocks near the viewport that are not rendered yet, with their heights in px. */
const waiting = new Map<Element, number>()
/** Height in px of the blocks that one frame renders, so that no frame takes long. */
const FRAME_PX = 1000

function look(entries: readonly IntersectionObserverEntry[]): void {
  const isRendering = waiting.size > 0
  for (const { target, isIntersecting, boundingClientRect } of entries) {
    const { height } = boundingClientRect
    waiting.delete(target)
    if (isIntersecting) waiting.set(target, height)
    else if (target.isConnected) told.get(target)?.(height)
  }
  if (!isRendering && waiting.size > 0) renderNext()
}

/** Renders the next waiting blocks, and the others in the following frames. */
function renderNext(): void {
  let px = 0
  for (const [target, height] of waiting) {
    if (px > 0 && px + height > FRAME_PX) break
    px += height
    waiting.delete(target)
    if (target.isConnected) told.get(target)?.(undefined)
  }
  if (waiting.size > 0) requestAnimationFrame(renderNext)
}

/** The root element does not count, because the page itself scrolls it. */
function scrollerOf(element: HTMLElement): Element | null {
  const page = document.documentElement
  for (let each = element.parentElement; each !== null && each !== page; each = each.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(each).overflowY)) return each
  }
  return null
}
