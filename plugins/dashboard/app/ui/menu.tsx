/** A button with a menu. Follows the ARIA pattern: arrow keys move the focus, and Escape and Tab close the menu. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './controls.tsx'

/** Minimum distance between a menu and the page's left edge. */
const EDGE_PX = 8

export interface MenuItem {
  readonly label: ComponentChildren
  readonly href?: string
  readonly download?: string
  readonly act?: () => void
  /** Whether this choice is the current one. Undefined if the item is not a choice. */
  readonly checked?: boolean
  readonly disabled?: boolean
  readonly note?: string
  readonly key?: string
  /** Whether the item appears only on a narrow page. */
  readonly narrow?: boolean
}

interface MenuProps {
  readonly label: ComponentChildren
  /** Whether a down arrow follows the label. */
  readonly down?: boolean
  /** Name for screen readers, if the label is an icon. */
  readonly name?: string
  readonly items: readonly (MenuItem | 'line')[]
  readonly class?: string
  /** Whether the menu is aligned with the button's end rather than its start. */
  readonly end?: boolean
}

export function Menu({ label, down = false, name, items, class: kind = '', end = false }: MenuProps) {
  const [open, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  const entries = () => [
    ...(root.current?.querySelectorAll<HTMLElement>('[role^=menuitem]:not([aria-disabled])') ?? [])
  ]
  const focusOn = (index: number) => {
    const all = entries()
    all[(index + all.length) % all.length]?.focus()
  }
  // This is a layout effect, because pressing Escape before an ordinary effect ran would navigate away from the page.
  useLayoutEffect(() => {
    if (!open) return
    const checked = entries().findIndex(entry => entry.getAttribute('aria-checked') === 'true')
    focusOn(Math.max(0, checked))
    // Near the page's left edge, a menu that is aligned with its button's end would be cut off.
    const list = root.current!.querySelector<HTMLElement>('.menu-list')!
    const { left } = list.getBoundingClientRect()
    if (left < EDGE_PX) list.style.translate = `${EDGE_PX - left}px`
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Element)) setOpen(false)
    }
    const leave = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      event.preventDefault()
      event.stopPropagation()
      close(true)
    }
    document.addEventListener('pointerdown', outside)
    // Captured before other handlers, because the page itself has an Escape shortcut.
    document.addEventListener('keydown', leave, true)
    return () => {
      document.removeEventListener('pointerdown', outside)
      document.removeEventListener('keydown', leave, true)
    }
  }, [open])
  const close = (back: boolean) => {
    setOpen(false)
    if (back) root.current?.querySelector('button')?.focus()
  }
  const press = (event: KeyboardEvent) => {
    const at = entries().indexOf(document.activeElement as HTMLElement)
    const steps: Record<string, () => void> = {
      ArrowDown: () => focusOn(at + 1),
      ArrowUp: () => focusOn(at - 1),
      Home: () => focusOn(0),
      End: () => focusOn(-1)
    }
    if (event.key === 'Tab') return close(false)
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    event.stopPropagation()
    step()
  }
  return (
    <div class={`menu ${kind}`} ref={root}>
      <button
        type="button"
        class="plain"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={name}
        title={name}
        onClick={() => setOpen(!open)}
        onKeyDown={event => {
          if (event.key !== 'ArrowDown') return
          event.preventDefault()
          setOpen(true)
        }}
      >
        {label}
        {down && ' '}
        {down && <Icon name="down" />}
      </button>
      {open && (
        <div class={`menu-list ${end ? 'at-end' : ''}`} id={id} role="menu" tabIndex={-1} onKeyDown={press}>
          {items.map((item, i) => (item === 'line' ? <hr key={i} /> : <Entry key={i} item={item} close={close} />))}
        </div>
      )}
    </div>
  )
}

function Entry({ item, close }: { item: MenuItem; close(back: boolean): void }) {
  const { label, href, act, checked, disabled, note, key, narrow } = item
  const kind = narrow ? 'narrow-only' : undefined
  const content = (
    <>
      <span>
        {label}
        {note !== undefined && <small>{note}</small>}
      </span>
      {key !== undefined && <kbd>{key}</kbd>}
    </>
  )
  const choose = () => {
    close(href === undefined)
    act?.()
  }
  if (href !== undefined) {
    return (
      <a class={kind} role="menuitem" tabIndex={-1} href={href} download={item.download} onClick={choose}>
        {content}
      </a>
    )
  }
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: a choice has the role menuitemradio.
    <button
      type="button"
      class={kind}
      role={checked === undefined ? 'menuitem' : 'menuitemradio'}
      aria-checked={checked}
      aria-disabled={disabled ? 'true' : undefined}
      tabIndex={-1}
      onClick={disabled ? undefined : choose}
    >
      {content}
    </button>
  )
}
