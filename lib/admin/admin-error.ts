/** Thrown if a maintenance command is refused. The message is one line that says why and what to do. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
}
