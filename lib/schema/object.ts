/** The kinds of objects in the schemas. Those with fields allow no others. */
import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox'

/**
 * An object with a name. It stands once in the OpenAPI document, under this name, and is referred to everywhere else.
 */
export const named = <P extends TProperties>(title: string, properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { title, ...(description !== undefined && { description }), additionalProperties: false })

/** An object without a name. The document repeats it wherever it is used. */
export const closed = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false })

/** An object with any keys, whose values are all of one schema. */
export const mapOf = <T extends TSchema>(schema: T, description?: string) =>
  Type.Unsafe<{ [key: string]: Static<T> }>(
    Type.Object({}, { additionalProperties: schema, ...(description !== undefined && { description }) })
  )

export const nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
