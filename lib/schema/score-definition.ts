/** The definition of a score that people give: its type, its range or categories, and one sentence about it. */
import Type, { type Static } from 'typebox'
import { DATA_TYPES, ScoreName } from './input.ts'
import { closed } from './object.ts'

export const MOST_CATEGORIES = 20
export const MOST_DESCRIPTION = 300

const bound = Type.Union([Type.Number(), Type.Null()])
const fields = {
  name: ScoreName,
  dataType: Type.Enum([...DATA_TYPES]),
  minimum: bound,
  maximum: bound,
  categories: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: MOST_CATEGORIES }),
  description: Type.String({ maxLength: MOST_DESCRIPTION })
}

export const ScoreDefinition = closed(fields)
export type ScoreDefinition = Static<typeof ScoreDefinition>

/** The body of a request that defines a score. Absent bounds do not limit numbers. */
export const ScoreDefinitionBody = closed({
  name: fields.name,
  dataType: fields.dataType,
  minimum: Type.Optional(fields.minimum),
  maximum: Type.Optional(fields.maximum),
  categories: Type.Optional(fields.categories),
  description: Type.Optional(fields.description)
})

/** Returns the field that breaks a rule that the schema cannot express, and the rule; undefined if there is none. */
export function faultOfDefinition(definition: ScoreDefinition): readonly [field: string, rule: string] | undefined {
  const { dataType, minimum, maximum, categories } = definition
  if (dataType !== 'numeric') {
    if (minimum !== null) return ['minimum', 'must be absent unless dataType is numeric']
    if (maximum !== null) return ['maximum', 'must be absent unless dataType is numeric']
  }
  if (minimum !== null && maximum !== null && minimum >= maximum) return ['maximum', 'must be greater than `minimum`']
  if (dataType !== 'categorical') {
    return categories.length === 0 ? undefined : ['categories', 'must be absent unless dataType is categorical']
  }
  if (categories.length < 2) return ['categories', 'must have at least 2 values']
  const trimmed = categories.map(each => each.trim().toLowerCase())
  if (trimmed.includes('')) return ['categories', 'must not have an empty value']
  if (new Set(trimmed).size < trimmed.length) return ['categories', 'must not repeat a value']
  return undefined
}
