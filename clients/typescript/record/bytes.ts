/** Sizes of strings and timers that do not keep the process alive, on platforms with and without Node's globals. */
const encoder = new TextEncoder()

/** Returns the size of a string in UTF-8. */
export const utf8Length: (text: string) => number =
  typeof Buffer === 'function' ? text => Buffer.byteLength(text) : text => encoder.encode(text).length

/** A timer's handle: an object in Node, a number elsewhere. */
export type Timer = ReturnType<typeof setTimeout>

/** Lets the process end even though the timer is running. */
export function unref(timer: Timer): Timer {
  if (typeof timer === 'object') timer.unref?.()
  return timer
}
