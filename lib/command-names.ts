/** Replaces `spoor` in the commands of a message, which stand between backticks. */
export const nameCommands = (text: string, command: string): string =>
  text.replace(/(?<=`(?:[^`]*\| )?(?:[A-Z_]+=\S+ )*)spoor(?=\s)/g, () => command)
