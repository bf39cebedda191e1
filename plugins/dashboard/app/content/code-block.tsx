/** A block of code in subdued colours, painted with the CSS Custom Highlight API, which needs no elements. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

const loadTokens = () => import('./code-tokens.ts')

interface Props {
  readonly text: string
  /** The language that the fence names; empty if none. */
  readonly language: string
  readonly children: ComponentChildren
}

export function CodeBlock({ text, language, children }: Props) {
  const code = useRef<HTMLElement>(null)
  useEffect(() => {
    const registry = (CSS as { highlights?: HighlightRegistry }).highlights
    const node = code.current?.firstChild
    // Text with hidden characters consists of several nodes, and is not coloured.
    if (language === '' || registry === undefined || node?.nodeType !== Node.TEXT_NODE || node.nodeValue !== text)
      return
    const painted: [Highlight, Range][] = []
    let isGone = false
    const paint = ({ readCode }: Awaited<ReturnType<typeof loadTokens>>) => {
      if (isGone) return
      for (const { kind, start, end } of readCode(text, language)) {
        const name = `code-${kind}`
        const ranges = registry.get(name) ?? new Highlight()
        registry.set(name, ranges)
        const range = document.createRange()
        range.setStart(node, start)
        range.setEnd(node, end)
        ranges.add(range)
        painted.push([ranges, range])
      }
    }
    // Without colours, the code is still readable.
    loadTokens().then(paint, () => {})
    return () => {
      isGone = true
      for (const [ranges, range] of painted) ranges.delete(range)
    }
  }, [text, language])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <pre tabIndex={0}>
      <code ref={code}>{children}</code>
    </pre>
  )
}
