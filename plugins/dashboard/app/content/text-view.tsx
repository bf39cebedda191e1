/** Shows recorded text unchanged, except that hidden characters are made visible and long text is truncated. */

import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { MoreButton } from '../ui/controls.tsx'
import { formatBytes } from '../ui/format.ts'
import { Offscreen, useKept } from '../ui/offscreen.tsx'
import { cut, showHidden, utf8Bytes } from '../ui/text.ts'
import { CodeBlock } from './code-block.tsx'
import { MARKDOWN_MOST, readMarkdown } from './markdown/blocks.ts'
import type { Markdown } from './markdown/nodes.ts'
import { portionsOf } from './markdown/nodes.ts'

const MOST_PIECES = 500

/** Shows text with hidden characters replaced by their names. */
export function Plain({ text }: { text: string }): ComponentChildren {
  const pieces = useMemo(() => showHidden(text), [text])
  if (pieces.length === 1 && !pieces[0]!.hidden) return text
  if (pieces.length > MOST_PIECES) return pieces.map(({ text, hidden }) => (hidden ? `[${text}]` : text)).join('')
  return pieces.map(({ text, hidden }, i) =>
    hidden ? (
      <span key={i} class="hidden-character" title="Invisible character">
        {text}
      </span>
    ) : (
      text
    )
  )
}

const CUT_AT = 20_000

interface LongTextProps {
  readonly text: string
  readonly rendered: boolean
  readonly name: string
  /** Whether text that is not rendered has a fixed-width font. */
  readonly isCode?: boolean
}

/** Shows text as Markdown if requested and not too long, otherwise as is. Very long text is truncated at first. */
export function LongText({ text, rendered, name, isCode = false }: LongTextProps) {
  const [all, setAll] = useKept(`all ${name}`, false)
  const isLong = text.length > CUT_AT
  const shown = isLong && !all ? cut(text, CUT_AT) : text
  return (
    <>
      <Words text={shown} rendered={rendered} isCode={isCode} />
      {isLong && !all && <MoreButton onClick={() => setAll(true)}>Show all {formatBytes(utf8Bytes(text))}</MoreButton>}
    </>
  )
}

/** Number of elements per group. Groups far from the viewport are not rendered. */
const TOGETHER = 150
/** Estimated height of a portion before its first rendering. */
const PORTION_PX = 900

function Words({ text, rendered, isCode }: { text: string; rendered: boolean; isCode: boolean }) {
  const portions = useMemo(() => {
    const tree = rendered && text.length <= MARKDOWN_MOST ? readMarkdown(text) : undefined
    return tree && portionsOf(tree, TOGETHER)
  }, [text, rendered])
  if (portions === undefined) return <Chunks text={text} isCode={isCode} />
  if (portions.length === 1) return <div class="words">{drawn(portions[0]!)}</div>
  return (
    <>
      {portions.map((portion, i) => (
        <Offscreen key={i} {...(i > 1 && { estimate: PORTION_PX })}>
          <div class="words">{drawn(portion)}</div>
        </Offscreen>
      ))}
    </>
  )
}

const drawn = (nodes: readonly Markdown[]) => nodes.map((node, i) => <Drawn key={i} node={node} />)

const CHUNK = 10_000

/** Shows long text in blocks, so that the browser lays out only the blocks in view. */
function Chunks({ text, isCode }: { text: string; isCode: boolean }) {
  const kind = isCode ? 'plain-text is-code' : 'plain-text'
  if (text.length <= CHUNK * 2) {
    return (
      <pre class={kind} dir="auto">
        <Plain text={text} />
      </pre>
    )
  }
  const chunks: string[] = []
  for (let at = 0; at < text.length; ) {
    const line = text.indexOf('\n', at + CHUNK)
    const end = line === -1 || line > at + CHUNK * 2 ? at + cut(text.slice(at, at + CHUNK), CHUNK).length : line + 1
    chunks.push(text.slice(at, end))
    at = end
  }
  return (
    <pre class={kind} dir="auto">
      {chunks.map((chunk, i) => (
        <span key={i} class="chunk">
          <Plain text={chunk} />
        </span>
      ))}
    </pre>
  )
}

function Drawn({ node }: { node: Markdown }): ComponentChildren {
  if (typeof node === 'string') return <Plain text={node} />
  const children = 'children' in node ? drawn(node.children) : undefined
  switch (node.tag) {
    case 'h':
      // Headings in recorded text are not headings of the page.
      return (
        <p class={`h h${node.level}`} dir="auto">
          {children}
        </p>
      )
    case 'a':
      return (
        <a href={node.href} rel="noreferrer noopener" target="_blank" title={node.href}>
          {children}
        </a>
      )
    case 'img':
      return <img src={node.data} alt={node.alt} loading="lazy" />
    case 'pre':
      return (
        <CodeBlock text={node.text} language={node.language}>
          <Plain text={node.text} />
        </CodeBlock>
      )
    case 'code':
      return (
        <code>
          <Plain text={node.text} />
        </code>
      )
    case 'task':
      return <span class="task">{node.done ? '☑ ' : '☐ '}</span>
    case 'ol':
      return <ol start={node.start}>{children}</ol>
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        <div class="scrolls" tabIndex={0}>
          <table>
            <tbody>{children}</tbody>
          </table>
        </div>
      )
    case 'br':
      return <br />
    case 'hr':
      return <hr />
    case 'p':
      return <p dir="auto">{children}</p>
    default: {
      const Tag = node.tag
      return <Tag>{children}</Tag>
    }
  }
}
