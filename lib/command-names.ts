/** Replaces `spoor` in the commands that a message shows in backticks. */
export const nameCommands = (text: string, command: string): string =>
  text.replace(/(?<=`(?:[^`]*\| )?(?:[A-Z_]+=\S+ )*)spoor(?=\s)/g, () => command)
