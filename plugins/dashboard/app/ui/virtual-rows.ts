/** A list of rows of equal height. Only the visible rows are in the document. */
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Number of rows rendered before and after the visible rows, so that scrolling shows no gaps. */
const BEYOND = 8

export interface Visible {
  readonly box: RefObject<HTMLDivElement | null>
  readonly from: number
  readonly to: number
  show(index: number): void
}

export function useVirtual(count: number, rowHeight: number): Visible {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const look = () => {
      const [top, height] = [element.scrollTop, element.clientHeight]
      setView(before => (before.top === top && before.height === height ? before : { top, height }))
    }
    look()
    element.addEventListener('scroll', look, { passive: true })
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => {
      element.removeEventListener('scroll', look)
      observer.disconnect()
    }
  }, [])
  const from = Math.max(0, Math.floor(view.top / rowHeight) - BEYOND)
  const to = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + BEYOND)
  return {
    box,
    from: Math.min(from, Math.max(0, to - 1)),
    to,
    show(index) {
      const element = box.current
      if (element === null) return
      const top = index * rowHeight
      if (top < element.scrollTop) element.scrollTop = top
      else if (top + rowHeight > element.scrollTop + element.clientHeight) {
        element.scrollTop = top + rowHeight - element.clientHeight
      }
    }
  }
}

/** Scrolls to a row when it is selected. */
export function useShown(visible: Visible, index: number, key: string | undefined): void {
  useEffect(() => {
    if (index >= 0) visible.show(index)
  }, [key])
}
