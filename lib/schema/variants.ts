/**
 * Handles unions of object types that are distinguished by a tag: a field with a different constant in every variant,
 * such as a score's `dataType`.
 */
import Type, { type TObject, type TProperties, type TSchema } from 'typebox'

interface Variant {
  readonly properties?: Readonly<Record<string, { readonly const?: unknown }>>
}

/** Returns the name of the tag, or undefined if the branches are not variants. */
export function tagOf(branches: readonly Variant[]): string | undefined {
  return Object.keys(branches[0]?.properties ?? {}).find(name => {
    const constants = branches.map(({ properties }) => properties?.[name]?.const)
    return !constants.includes(undefined) && new Set(constants).size === constants.length
  })
}

/**
 * Returns the fields of an object schema, or the combined fields of all variants. Used for readers that do not support
 * unions, such as models that call tools. A field that differs between variants accepts the values of all variants.
 */
export function fieldsOf(schema: TSchema): TProperties {
  if (!('anyOf' in schema)) return (schema as TObject).properties
  const variants = schema.anyOf as TObject[]
  const tag = tagOf(variants)
  if (tag === undefined) throw new Error('only a union of variants has fields')
  const [first] = variants
  return Object.fromEntries(
    Object.entries(first?.properties ?? {}).map(([name, field]) => [
      name,
      name === tag ? tags() : together(name, field)
    ])
  )

  function tags(): TSchema {
    return Type.Enum(constants())
  }

  function constants(): string[] {
    return variants.map(({ properties }) => String((properties[tag!] as { const?: unknown }).const))
  }

  function together(name: string, field: TSchema): TSchema {
    const fields = variants.map(({ properties }) => properties[name] as TSchema & { type?: string })
    if (fields.every(other => other === field)) return field
    const description = `The type depends on \`${tag}\`: ${constants()
      .map((tag, i) => `${tag} ${fields[i]?.type}`)
      .join(', ')}.`
    return Type.Union(fields, { description })
  }
}
