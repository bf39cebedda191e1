/** Returns the names of the address's parameters that a page does not read, each once. */
export const otherParameters = (search: string, known: readonly string[]): string[] =>
  [...new Set(new URLSearchParams(search).keys())].filter(name => !known.includes(name))
