/** The two kinds of object that the schemas are made of; neither lets any other field in. */
import Type, { type TObject, type TProperties } from 'typebox'

/** An object that has a name: it stands once in the OpenAPI document, under this name, and is referred to from there. */
export const named = <P extends TProperties>(title: string, properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { title, ...(description !== undefined && { description }), additionalProperties: false })

/** An object that stands where it is used. */
export const closed = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false })
