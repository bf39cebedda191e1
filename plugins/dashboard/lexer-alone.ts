/**
 * Of marked the page uses the lexer alone, but marked's module ends in statements that tie all of it together, so that
 * no bundler can leave the rest out. This leaves these statements out.
 */
import { readFile } from 'node:fs/promises'
import type { Plugin } from 'esbuild'

/** From where the module makes an instance of all of it. */
const TIE = /;var \w+=new \w+;function /
const LEXER = /\b(\w+) as Lexer\b/

export const lexerAlone: Plugin = {
  name: 'lexer-alone',
  setup(build) {
    build.onLoad({ filter: /[\\/]marked[\\/]lib[\\/]marked\.esm\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const tie = TIE.exec(text)
      const lexer = LEXER.exec(text)
      if (tie === null || lexer === null) throw new Error(`${path} is another version: see ${import.meta.url}`)
      return { contents: `${text.slice(0, tie.index)};export{${lexer[1]} as Lexer}`, loader: 'js' }
    })
  }
}
