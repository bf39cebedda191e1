/** A model's answer, in no provider's form, and what it is made from. */
import { ANSWER } from './facts.ts'
import { exampleOf, type JsonSchema } from './json-schema.ts'

export interface Tool {
  readonly name: string
  /** The name of the tool's group, if the provider groups tools (OpenAI's Responses). */
  readonly namespace?: string | undefined
  readonly schema: JsonSchema | undefined
}

export interface ToolCall extends Pick<Tool, 'name' | 'namespace'> {
  readonly input: unknown
}

export interface Answer {
  readonly text: string
  readonly call: ToolCall | undefined
}

export interface Asked {
  readonly tools: readonly Tool[]
  /** The results of tools that the messages hold, in their order, as the texts that the model reads. */
  readonly results: readonly string[]
  readonly mayCall: boolean
  readonly schema: JsonSchema | undefined
}

export type Model = (asked: Asked) => Answer

/**
 * The model of most tests. It calls the first tool, and answers with text once it has a result. Where JSON of a schema
 * is asked for, the text is that.
 */
export const callsOnce: Model = ({ tools: [tool], results, mayCall, schema }) => {
  const wantsText = results.length > 0 || !mayCall
  if (tool !== undefined && !wantsText) {
    const { name, namespace } = tool
    return { text: '', call: { name, namespace, input: exampleOf(tool.schema) } }
  }
  return { text: schema === undefined ? ANSWER : JSON.stringify(exampleOf(schema)), call: undefined }
}

/** The text of a tool's result, which is a text or a list of parts. */
export function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content) ?? ''
  return content.map(part => (typeof part?.text === 'string' ? part.text : JSON.stringify(part))).join('')
}
