/** Generates the client's types (clients/typescript/api-types.ts) from the OpenAPI document. */

// biome-ignore lint/suspicious/noExplicitAny: the test traverses the whole document.
type Json = any

/** The schemas that the client's users see. Schemas to which these schemas refer are added. */
const WANTED = [
  'TraceInput',
  'ScoreInput',
  'TraceDetail',
  'TraceList',
  'ScoreList',
  'TraceScoreList',
  'Project',
  'KeyDescription'
]
const QUERIES = { TraceListQuery: '/api/v1/traces', ScoreListQuery: '/api/v1/scores' }

export function clientTypes(document: Json): string {
  const { schemas } = document.components
  const parts: string[] = []
  const open = [...WANTED]
  const seen = new Set(open)
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    parts.push(declaration(name, schemas[name]))
    for (const [, other = ''] of JSON.stringify(schemas[name]).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (seen.has(other)) continue
      seen.add(other)
      open.push(other)
    }
  }
  for (const [name, path] of Object.entries(QUERIES)) {
    const given: Json[] = document.paths[path].get.parameters.map((each: Json) => resolve(document, each))
    const members = given.filter(each => each.in === 'query')
    const lines = members.map(each => member(each.name, each.schema, each.required === true, each.description))
    parts.push(`export interface ${name} {\n${lines.join('\n')}\n}`)
  }
  return [HEAD, ...constants(schemas), '', parts.join('\n\n'), ''].join('\n')
}

const HEAD = `/**
 * The service's types and limits, made from its OpenAPI document by \`npm run client-types\`. Not written by hand: a test
 * compares it with the document.
 */
`

/** Returns the limits that the client applies itself. */
function constants({ TraceInput, SpanInput, SpanEventInput, CategoricalScoreInput }: Json): string[] {
  const list = (values: readonly string[]) => `[${values.map(quote).join(', ')}] as const`
  return [
    `export const SPAN_KINDS = ${list(SpanInput.properties.kind.enum)}`,
    `export const STATUSES = ${list(SpanInput.properties.status.enum)}`,
    `export const MAX_SPANS = ${TraceInput.properties.spans.maxItems}`,
    `export const MAX_EVENTS = ${SpanInput.properties.events.maxItems}`,
    `export const MAX_TAGS = ${TraceInput.properties.tags.maxItems}`,
    `export const MAX_TAG = ${TraceInput.properties.tags.items.maxLength}`,
    `export const MAX_NAME = ${SpanEventInput.properties.name.maxLength}`,
    `export const MAX_TEXT = ${TraceInput.properties.model.maxLength}`,
    `export const MAX_CATEGORY = ${CategoricalScoreInput.properties.value.maxLength}`,
    `export const MAX_COMMENT = ${CategoricalScoreInput.properties.comment.maxLength}`
  ]
}

function resolve(document: Json, value: Json): Json {
  return value.$ref === undefined ? value : document.components.parameters[value.$ref.split('/').at(-1)]
}

function declaration(name: string, schema: Json): string {
  const comment = schema.description === undefined ? '' : `/** ${oneLine(schema.description)} */\n`
  if (schema.properties === undefined) return `${comment}export type ${name} = ${typeOf(schema)}`
  return `${comment}export interface ${name} {\n${members(schema).join('\n')}\n}`
}

function members({ properties, required = [] }: Json): string[] {
  return Object.entries<Json>(properties).map(([name, each]) =>
    member(name, each, required.includes(name), each.description)
  )
}

function member(name: string, schema: Json, isRequired: boolean, description: string | undefined): string {
  const comment = description === undefined ? '' : `  /** ${oneLine(description)} */\n`
  const type = typeOf(schema)
  const optional = isRequired || type === 'unknown' ? type : `${type} | undefined`
  return `${comment}  ${name}${isRequired ? '' : '?'}: ${optional}`
}

function typeOf(schema: Json): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' | ')
  const types: string[] = [schema.type].flat()
  if (types.length > 1) return types.map(type => typeOf({ ...schema, type })).join(' | ')
  if (schema.type === 'array') return `readonly ${element(schema.items)}[]`
  if (schema.type === 'object') return objectType(schema)
  if (schema.type === 'integer') return 'number'
  return schema.type ?? 'unknown'
}

function objectType(schema: Json): string {
  const { additionalProperties: rest } = schema
  if (Object.keys(schema.properties ?? {}).length > 0) return `{ ${members(schema).join('; ').replaceAll('\n', ' ')} }`
  return `Record<string, ${typeof rest === 'object' && rest !== null ? typeOf(rest) : 'unknown'}>`
}

function element(schema: Json): string {
  const type = typeOf(schema)
  return type.includes(' ') ? `(${type})` : type
}

const literal = (value: unknown) => (typeof value === 'string' ? quote(value) : String(value))
const quote = (text: string) => `'${text}'`
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
