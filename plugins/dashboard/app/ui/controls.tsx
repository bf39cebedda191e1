/** Icons and buttons. Text beside each icon, or the icon's label, carries the same meaning. */
import type { ComponentChildren } from 'preact'

/** Icon paths in a 16 × 16 grid. */
const PATHS = {
  ok: 'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM7 10.9 4.3 8.2l1.1-1L7 8.7l3.7-3.7 1 1.1Z',
  error: 'M8 1.2 15.3 14H.7Zm-.8 4.6.2 4h1.2l.2-4Zm.8 5.1a.9.9 0 1 0 0 1.8.9.9 0 0 0 0-1.8Z',
  unset: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2Zm0 1.5a4.3 4.3 0 1 1 0 8.6 4.3 4.3 0 0 1 0-8.6Z',
  running: 'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm0 1.5v10A5 5 0 0 1 8 3Z',
  down: 'm3.2 5.6 4.8 4.8 4.8-4.8-1-1L8 8.4 4.2 4.6Z',
  right: 'm5.6 3.2 4.8 4.8-4.8 4.8-1-1L8.4 8 4.6 4.2Z',
  left: 'M10.4 3.2 5.6 8l4.8 4.8 1-1L7.6 8l3.8-3.8Z',
  copy: 'M5 1.5h8A1.5 1.5 0 0 1 14.500 3v8H13V3H5Zm-2 3h7A1.500 1.500 0 0 1 11.500 6v7A1.500 1.500 0 0 1 10 14.500H3A1.500 1.500 0 0 1 1.500 13V6A1.500 1.500 0 0 1 3 4.500ZM3 6v7h7V6Z',
  search: 'M6.500 1.500a5 5 0 0 1 4 8l4 4-1 1-4-4a5 5 0 1 1-3-9Zm0 1.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7Z',
  close:
    'm3.500 2.400 4.500 4.500 4.500-4.500 1.100 1.100L9.100 8l4.500 4.500-1.100 1.100L8 9.100l-4.500 4.500-1.100-1.100L6.900 8 2.400 3.500Z',
  menu: 'M2 3.500h12V5H2Zm0 3.800h12v1.500H2Zm0 3.700h12v1.500H2Z',
  more: 'M3.200 6.700a1.400 1.400 0 1 1 0 2.700 1.400 1.400 0 0 1 0-2.700Zm4.800 0a1.400 1.400 0 1 1 0 2.700 1.400 1.400 0 0 1 0-2.700Zm4.800 0a1.400 1.400 0 1 1 0 2.700 1.400 1.400 0 0 1 0-2.700Z',
  theme: 'M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13ZM8 3a5 5 0 0 1 0 10Z',
  download:
    'M7.200 1.500h1.600v6.700l2.300-2.300 1.100 1.100L8 11.200 3.800 7l1.100-1.100 2.300 2.300ZM2 12.500h12V14H2Z',
  filter: 'M1.500 3h13v1.600l-5 5V14l-3-1.600V9.600l-5-5Z',
  live: 'M8 5.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5Z'
} as const
type IconName = keyof typeof PATHS

export function Icon({ name, class: kind = '' }: { name: IconName; class?: string }) {
  return (
    <svg class={`icon ${kind}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="currentColor" fill-rule="evenodd" />
    </svg>
  )
}

export function StatusIcon({ status, quiet = false }: { status: string; quiet?: boolean }) {
  const name = status === 'ok' || status === 'error' || status === 'running' ? status : 'unset'
  return (
    <span class={`status is-${name}`} title={quiet ? status : undefined}>
      <Icon name={name} />
      <span class={quiet ? 'unseen' : ''}>{status}</span>
    </span>
  )
}

interface ButtonProps {
  readonly onClick: () => unknown
  readonly children: ComponentChildren
}

const buttonOf =
  (kind?: string) =>
  ({ onClick, children }: ButtonProps) => (
    <button type="button" class={kind} onClick={() => void onClick()}>
      {children}
    </button>
  )
export const Button = buttonOf()
export const MainButton = buttonOf('main')
export const LinkButton = buttonOf('link')
/** Shows more of a truncated or folded value. */
export const MoreButton = buttonOf('show-all')

/** A link that looks like a button. */
export function ButtonLink({ href, children }: { href: string; children: ComponentChildren }) {
  return (
    <a class="button" href={href}>
      {children}
    </a>
  )
}
