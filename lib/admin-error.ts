/** Thrown if a maintenance command is rejected. The message is one line with the reason and the remedy. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
}

/** Thrown if the input itself is invalid, regardless of stored data. */
export class InputError extends AdminError {}
