/** A model's response, independent of the providers' formats, and the information from which a model computes it. */
import { ANSWER } from './facts.ts'
import { exampleOf, type JsonSchema } from './json-schema.ts'

export interface Tool {
  readonly name: string
  /** The name of the tool's group, if the provider groups tools (OpenAI's Responses API). */
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
  /** The tool results in the messages, in order, as the strings that the model reads. */
  readonly results: readonly string[]
  readonly mayCall: boolean
  readonly schema: JsonSchema | undefined
}

export type Model = (asked: Asked) => Answer

/**
 * The model of most tests. It calls the first tool, and responds with text once it has a result. If the request
 * contains a schema for the response, the text is JSON that the schema allows.
 */
export const callsOnce: Model = ({ tools: [tool], results, mayCall, schema }) => {
  const wantsText = results.length > 0 || !mayCall
  if (tool !== undefined && !wantsText) {
    const { name, namespace } = tool
    return { text: '', call: { name, namespace, input: exampleOf(tool.schema) } }
  }
  return { text: schema === undefined ? ANSWER : JSON.stringify(exampleOf(schema)), call: undefined }
}

/** Returns the text of a tool's result, which is a string or a list of parts. */
export function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content) ?? ''
  return content.map(part => (typeof part?.text === 'string' ? part.text : JSON.stringify(part))).join('')
}
