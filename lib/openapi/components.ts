/**
 * Collects the document's components, which are defined once and referenced elsewhere. Schemas come from TypeBox. A
 * schema with a title (`named` in lib/schema/object.ts) becomes a component of that name.
 */
import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from 'typebox'
import { tagOf } from '../schema/variants.ts'
import { REQUEST_ID } from './examples.ts'

export type SchemaJson = { readonly [key: string]: unknown }

export interface Ref {
  readonly $ref: string
}

type Family = 'schemas' | 'responses' | 'parameters' | 'headers'

export class Components {
  readonly #families: Record<Family, Record<string, SchemaJson>> = {
    schemas: {},
    responses: {},
    parameters: {},
    headers: {}
  }

  /** Adds a component and returns a reference to it. Throws if a different component has this name. */
  add(family: Family, name: string, component: SchemaJson): Ref {
    const existing = this.#families[family][name]
    if (existing !== undefined && !isDeepStrictEqual(existing, component)) {
      throw new Error(`Two ${family} of the OpenAPI document are called ${name}`)
    }
    this.#families[family][name] = component
    return { $ref: `#/components/${family}/${name}` }
  }

  /** Returns the schema as the document shows it. A schema that is a component becomes a reference. */
  schema(schema: TSchema): SchemaJson {
    // TypeBox adds its own markers to the keywords. Conversion to JSON drops the markers.
    return this.#convert(JSON.parse(JSON.stringify(schema)))
  }

  toJSON(): SchemaJson {
    return this.#families
  }

  #convert({ title, properties, anyOf, ...schema }: SchemaJson): SchemaJson {
    const converted = withTypes({
      ...schema,
      ...(isJson(properties) && Object.keys(properties).length > 0 && { properties: this.#convertEach(properties) }),
      ...(isJson(schema.additionalProperties) && { additionalProperties: this.#convert(schema.additionalProperties) }),
      ...(isJson(schema.items) && { items: this.#convert(schema.items) }),
      ...(Array.isArray(anyOf) && this.#convertUnion(anyOf))
    })
    return typeof title === 'string' ? { ...this.add('schemas', title, converted) } : converted
  }

  /** Converts a union. Tagged variants are mutually exclusive, and their tag becomes the discriminator. */
  #convertUnion(branches: readonly SchemaJson[]): SchemaJson {
    const converted = branches.map(branch => this.#convert(branch))
    const tag = tagOf(branches)
    if (tag === undefined) return { anyOf: converted }
    const mapping = branches.map(({ properties }, i) => [(properties as Tagged)[tag]?.const, converted[i]?.$ref])
    return { oneOf: converted, discriminator: { propertyName: tag, mapping: Object.fromEntries(mapping) } }
  }

  #convertEach(schemas: SchemaJson): SchemaJson {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [name, this.#convert(schema as SchemaJson)])
    )
  }
}

/**
 * Returns the same rules in the form that client generators understand best: an enumeration has the type `string`, and
 * a nullable plain type lists both types.
 */
function withTypes(schema: SchemaJson): SchemaJson {
  const { anyOf, ...rest } = schema
  if (Array.isArray(schema.enum) && schema.type === undefined) return { type: 'string', ...schema }
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1].type !== 'null') return schema
  const { type, ...rules } = anyOf[0]
  return typeof type === 'string' && type !== 'object' ? { type: [type, 'null'], ...rules, ...rest } : schema
}

type Tagged = Readonly<Record<string, { readonly const: string }>>

function isJson(value: unknown): value is SchemaJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function everyHeader(components: Components): SchemaJson {
  return {
    'X-Request-Id': components.add('headers', 'RequestId', {
      description: 'Made by the server for each request; quote it when something is wrong.',
      required: true,
      schema: { type: 'string' },
      example: REQUEST_ID
    }),
    'Cache-Control': components.add('headers', 'NoStore', {
      description: 'Answers are not to be cached.',
      required: true,
      schema: { type: 'string', const: 'no-store' }
    })
  }
}

/**
 * Returns the headers of success responses. The `declared` headers are the route's own, and extend or replace the
 * common headers.
 */
export function replyHeaders(declared: Readonly<Record<string, string>> = {}, components: Components): SchemaJson {
  const own = Object.entries(declared).map(([name, description]) => [
    name,
    { description, required: true, schema: { type: 'string' } }
  ])
  return { ...everyHeader(components), ...Object.fromEntries(own) }
}
