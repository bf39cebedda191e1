/** The two kinds of objects in the schemas. Neither allows unknown fields. */
import Type, { type TObject, type TProperties } from 'typebox'

/**
 * An object with a name. It stands once in the OpenAPI document, under this name, and is referred to everywhere else.
 */
export const named = <P extends TProperties>(title: string, properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { title, ...(description !== undefined && { description }), additionalProperties: false })

/** An object without a name. The document repeats it wherever it is used. */
export const closed = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false })
