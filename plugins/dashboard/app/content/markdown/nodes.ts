export type Markdown =
  | string
  | {
      readonly tag: 'p' | 'strong' | 'em' | 'del' | 'blockquote' | 'ul' | 'li' | 'tr' | 'th' | 'td' | 'table'
      readonly children: readonly Markdown[]
    }
  | { readonly tag: 'h'; readonly level: number; readonly children: readonly Markdown[] }
  | { readonly tag: 'ol'; readonly start: number; readonly children: readonly Markdown[] }
  | { readonly tag: 'task'; readonly done: boolean }
  | { readonly tag: 'code'; readonly text: string }
  | { readonly tag: 'pre'; readonly text: string; readonly language: string }
  | { readonly tag: 'a'; readonly href: string; readonly children: readonly Markdown[] }
  | { readonly tag: 'img'; readonly data: string; readonly alt: string }
  | { readonly tag: 'br' | 'hr' }

/** Splits a tree into portions of about `most` elements. A long list or table spans several portions. */
export function portionsOf(tree: readonly Markdown[], most: number): Markdown[][] {
  const portions: Markdown[][] = []
  let portion: Markdown[] = []
  let size = 0
  for (const node of tree.flatMap(node => splitOf(node, most))) {
    const nodes = countNodes(node)
    if (portion.length > 0 && size + nodes > most) {
      portions.push(portion)
      portion = []
      size = 0
    }
    portion.push(node)
    size += nodes
  }
  return portion.length > 0 ? [...portions, portion] : portions
}

function countNodes(node: Markdown): number {
  if (typeof node === 'string') return 0
  return 1 + ('children' in node ? node.children.reduce((sum, child) => sum + countNodes(child), 0) : 0)
}

function splitOf(node: Markdown, most: number): Markdown[] {
  if (typeof node === 'string' || !('children' in node) || countNodes(node) <= most) return [node]
  if (node.tag === 'p' || node.tag === 'h' || node.tag === 'li') return [node]
  const parts = portionsOf(node.children, most)
  let start = node.tag === 'ol' ? node.start : 0
  return parts.map(children => {
    const part = node.tag === 'ol' ? { ...node, start, children } : { ...node, children }
    start += children.length
    return part
  })
}
