/** Returns a value that a JSON schema allows, in which each string is `Graz` and each number is 1. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
}

type Definitions = NonNullable<JsonSchema['$defs']>

export function exampleOf(schema: JsonSchema | undefined, definitions: Definitions = schema?.$defs ?? {}): unknown {
  if (schema === undefined) return {}
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0], definitions)
  if (schema.$ref !== undefined) return exampleOf(definitions[String(schema.$ref.split('/').at(-1))], definitions)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0]
  if (type === 'string') return 'Graz'
  if (type === 'number' || type === 'integer') return 1
  if (type === 'boolean') return true
  if (type === 'null') return null
  if (type === 'array') return [exampleOf(schema.items, definitions)]
  const members = Object.entries(schema.properties ?? {})
  return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member, definitions)]))
}
