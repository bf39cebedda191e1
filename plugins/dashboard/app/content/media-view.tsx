/** Images and audio recorded in a trace. Other media are shown as a chip with type and size, and can be saved. */
import { useState } from 'preact/hooks'
import { save } from '../state/toasts.ts'
import { Icon, LinkButton } from '../ui/controls.tsx'
import { formatBytes } from '../ui/format.ts'
import type { Media } from '../ui/media.ts'

/** Larger media are shown on request only. */
const SHOWN_BYTES = 1_500_000

export function MediaView({ media, shown = false }: { media: Media; shown?: boolean }) {
  const [open, setOpen] = useState(shown && media.bytes <= SHOWN_BYTES)
  const [broken, setBroken] = useState(false)
  const extension = media.type.split('/')[1]?.replace(/\W.*$/, '') ?? 'bin'
  return (
    <span class="media">
      {open && media.kind === 'image' && !broken && (
        <img src={media.data} alt={`Recorded in the trace, ${media.type}`} onError={() => setBroken(true)} />
      )}
      {open && media.kind === 'audio' && (
        // biome-ignore lint/a11y/useMediaCaption: traces contain no captions.
        <audio controls src={media.data} />
      )}
      <span class="chip">
        {media.type} · {formatBytes(media.bytes)}
        {broken && ' · cannot be displayed'}
        {media.kind !== 'file' && <LinkButton onClick={() => setOpen(!open)}>{open ? 'hide' : 'show'}</LinkButton>}
        <button type="button" class="link" title="Save the file" onClick={() => saveMedia(media, extension)}>
          <Icon name="download" /> save
        </button>
      </span>
    </span>
  )
}

/** Saves the media through a blob URL as an attachment, so that the browser never opens the file. */
function saveMedia({ data }: Media, extension: string): void {
  const binary = atob(data.slice(data.indexOf(',') + 1).replace(/\s/g, ''))
  const bytes = Uint8Array.from(binary, character => character.charCodeAt(0))
  save(bytes, `recorded.${extension}`, 'application/octet-stream')
}
