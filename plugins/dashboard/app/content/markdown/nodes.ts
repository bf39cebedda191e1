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
