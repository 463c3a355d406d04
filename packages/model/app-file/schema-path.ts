/** The schema of a key in an app file, by its path. */
import { z } from 'zod'

/** What a key may be: the options of a choice, without what surrounds them. */
export function schemasAt(
  schema: z.core.$ZodType,
  path: readonly PropertyKey[],
): z.core.$ZodType[] {
  const here = optionsOf(schema)
  const [first, ...rest] = path
  if (first === undefined) return here
  return here.flatMap((option) => {
    const inner = memberOf(option, first)
    return inner === undefined ? [] : schemasAt(inner, rest)
  })
}

/** Keys that a map with this path may have; empty where it has names of the writer. */
export function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  return schemasAt(schema, path).flatMap((option) =>
    option instanceof z.ZodObject ? Object.keys(option.def.shape) : [],
  )
}

/** Values as a user writes them, of the innermost schema that has some. */
export function examplesAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): unknown[] {
  return wrappedAt(schema, path).flatMap((each) => z.globalRegistry.get(each)?.examples ?? [])
}

/** The schema itself, and all that it wraps. */
function wrappedAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType[] {
  const [first, ...rest] = path
  if (first === undefined) return layersOf(schema)
  return optionsOf(schema).flatMap((option) => {
    const inner = memberOf(option, first)
    return inner === undefined ? [] : wrappedAt(inner, rest)
  })
}

function layersOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const inner = innerOf(schema)
  if (inner !== undefined) return [schema, ...layersOf(inner)]
  return schema instanceof z.ZodUnion ? [schema, ...schema.def.options.flatMap(layersOf)] : [schema]
}

function optionsOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const inner = innerOf(schema)
  if (inner !== undefined) return optionsOf(inner)
  return schema instanceof z.ZodUnion ? schema.def.options.flatMap(optionsOf) : [schema]
}

function innerOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return schema.def.innerType
  if (schema instanceof z.ZodDefault) return schema.def.innerType
  return schema instanceof z.ZodPipe ? schema.def.in : undefined
}

function memberOf(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.def.shape[String(key)]
  if (schema instanceof z.ZodRecord) return schema.def.valueType
  return schema instanceof z.ZodArray ? schema.def.element : undefined
}
