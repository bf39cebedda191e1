/** Thrown if a maintenance command is refused. The message is one line that says why and what to do. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
}

/** Thrown where what was asked for is wrong by itself, whatever is stored. */
export class InputError extends AdminError {}
