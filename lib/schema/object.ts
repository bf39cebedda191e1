/** Creates object schemas. Objects with declared fields reject unknown fields. */
import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox'

/** Creates a named object schema, which the OpenAPI document defines once and references elsewhere. */
export const named = <P extends TProperties>(title: string, properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { title, ...(description !== undefined && { description }), additionalProperties: false })

/** Creates an unnamed object schema, which the OpenAPI document repeats wherever it is used. */
export const closed = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false })

/** Creates a schema for objects with arbitrary keys and values of one schema. */
export const mapOf = <T extends TSchema>(schema: T, description?: string) =>
  Type.Unsafe<{ [key: string]: Static<T> }>(
    Type.Object({}, { additionalProperties: schema, ...(description !== undefined && { description }) })
  )

export const nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
