/** A list of rows of equal height, of which one is selected. Only the visible rows are in the document. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Number of rows rendered before and after the visible rows, so that scrolling shows no gaps. */
const BEYOND = 8
/** Maximum number of rows on paper. */
const PRINTED = 1000

interface Props {
  readonly id: string
  readonly class: string
  readonly role: 'tree' | 'listbox'
  readonly label: string
  readonly count: number
  readonly rowPx: number
  /** Index of the selected row; -1 if the row is not in the list. */
  readonly at: number
  /** The selected row's id in the document. */
  readonly active: string
  /** Number of rows that the page keys skip. */
  readonly page: number
  /** Actions of other keys. */
  readonly keys?: Readonly<Record<string, () => void>>
  select(index: number): void
  row(index: number, top: number): ComponentChildren
}

export function VirtualRows({ id, role, label, count, rowPx, at, active, page, keys = {}, ...props }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  useLayoutEffect(() => {
    const element = box.current!
    const look = () => {
      const [top, height] = [element.scrollTop, element.clientHeight]
      setView(before => (before.top === top && before.height === height ? before : { top, height }))
    }
    look()
    element.addEventListener('scroll', look, { passive: true })
    const observer = new ResizeObserver(look)
    observer.observe(element)
    // Paper has no viewport, and is laid out right after this event.
    const print = () => setView({ top: 0, height: PRINTED * rowPx })
    addEventListener('beforeprint', print)
    addEventListener('afterprint', look)
    return () => {
      removeEventListener('beforeprint', print)
      removeEventListener('afterprint', look)
      element.removeEventListener('scroll', look)
      observer.disconnect()
    }
  }, [rowPx])
  useEffect(() => {
    // Scrolls to the row that was selected.
    const element = box.current!
    const top = at * rowPx
    if (at < 0) return
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowPx > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowPx - element.clientHeight
    }
  }, [active])
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: count - 1,
      PageDown: at + page,
      PageUp: at - page
    }
    const to = steps[event.key]
    const act = to === undefined ? keys[event.key] : () => props.select(Math.max(0, Math.min(count - 1, to)))
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    act()
  }
  const to = Math.min(count, Math.ceil((view.top + view.height) / rowPx) + BEYOND)
  const from = Math.max(0, Math.min(Math.floor(view.top / rowPx) - BEYOND, to - 1))
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the role is a property.
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles support these attributes.
    <div
      class={props.class}
      ref={box}
      role={role}
      tabIndex={0}
      id={id}
      aria-label={label}
      aria-activedescendant={at >= from && at < to ? active : undefined}
      onKeyDown={press}
    >
      <div role="none" style={{ blockSize: `${count * rowPx}px` }}>
        {Array.from({ length: to - from }, (_, i) => props.row(from + i, (from + i) * rowPx))}
      </div>
    </div>
  )
}
