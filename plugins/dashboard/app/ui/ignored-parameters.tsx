/** Names the parameters of the address that the page ignores, so that nobody mistakes the list for a filtered one. */
import { asLine } from './text.ts'

export const IgnoredParameters = ({ names }: { names: readonly string[] }) =>
  names.length === 0 ? null : (
    <p class="soft">This page ignores these parameters in the address: {asLine(names.join(', '))}.</p>
  )
