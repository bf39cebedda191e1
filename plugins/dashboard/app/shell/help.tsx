import { Dialog } from '../ui/dialog.tsx'

const COMMANDS: readonly (readonly [keys: string, does: string])[] = [
  ['?', 'show this help'],
  ['/', 'search, open anything by name or ID, or run a command'],
  ['g o', 'go to the overview'],
  ['g t', 'go to the traces'],
  ['g n', 'go to the steps'],
  ['g e', 'go to the errors'],
  ['g s', 'go to the sessions'],
  ['g u', 'go to the users'],
  ['g c', 'go to the scores'],
  ['g r', 'review the listed traces'],
  ['g p', 'go to the project settings'],
  ['j k', 'next and previous row, or trace'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['Esc', 'back, or close'],
  ['↑ ↓ ← →', 'move through a tree, collapse and expand'],
  ['[ ]', 'collapse all, expand all'],
  ['m r', 'messages, raw JSON'],
  ['f n N', 'find in the trace, next and previous match'],
  ['e E', 'next and previous failed step'],
  ['a', 'annotate'],
  ['y', 'copy the link']
]

export function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <table class="keys">
        <tbody>
          {COMMANDS.map(([keys, does]) => (
            <tr key={keys}>
              <th scope="row">
                {keys.split(' ').map(key => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft">To disable shortcuts, use the menu at the top right.</p>
    </Dialog>
  )
}
