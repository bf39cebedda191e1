import { useEffect } from 'preact/hooks'

/** Highlights matches in a panel with the CSS Custom Highlight API, and scrolls to the first match. */
export function useHighlights(find: ((text: string) => [number, number][]) | undefined, key: string): void {
  useEffect(() => {
    const registry = (CSS as { highlights?: Map<string, unknown> }).highlights
    if (registry === undefined || find === undefined) return
    let stopped = false
    const mark = () => {
      const panel = document.getElementById('tab-panel')
      if (panel === null || stopped) return
      const ranges: Range[] = []
      const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node !== null && ranges.length < 500; node = walker.nextNode()) {
        for (const [start, end] of find(node.nodeValue ?? '')) {
          const range = document.createRange()
          range.setStart(node, start)
          range.setEnd(node, end)
          ranges.push(range)
        }
      }
      registry.set('found', new Highlight(...ranges))
      ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: 'center' })
    }
    // Delayed until the panel is rendered.
    const timer = setTimeout(mark, 60)
    return () => {
      stopped = true
      clearTimeout(timer)
      registry.delete('found')
    }
  }, [find, key])
}
