/**
 * What a chat is answered, in no provider's form. A request that has tools is answered by a call of the first one; once
 * it has a tool's result, by text. Where JSON of a schema is asked for, the text is that.
 */
import { ANSWER } from './facts.ts'
import { exampleOf, type JsonSchema } from './json-schema.ts'

export interface ToolCall {
  readonly name: string
  readonly input: unknown
}

export interface Answer {
  readonly text: string
  readonly call: ToolCall | undefined
}

export interface Asked {
  readonly tools: readonly { readonly name: string; readonly schema: JsonSchema | undefined }[]
  /** Whether a tool's result is among the messages, or calls are forbidden. */
  readonly wantsText: boolean
  readonly schema: JsonSchema | undefined
}

export function answerTo({ tools: [tool], wantsText, schema }: Asked): Answer {
  if (tool !== undefined && !wantsText) return { text: '', call: { name: tool.name, input: exampleOf(tool.schema) } }
  return { text: schema === undefined ? ANSWER : JSON.stringify(exampleOf(schema)), call: undefined }
}
