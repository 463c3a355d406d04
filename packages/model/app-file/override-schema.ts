/** The schema of overrides: every key may be left out, and null removes it. */
import { z } from 'zod'

/** Schemas with a transformation are values as a whole, and stay what they are. */
export function overridesOf(schema: z.core.$ZodType): z.ZodType {
  const made = convert(schema)
  const notes = z.globalRegistry.get(schema)
  return notes === undefined ? made : made.meta(notes)
}

function convert(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return overridesOf(schema.def.innerType)
  if (schema instanceof z.ZodUnion)
    return schema.clone({ ...schema.def, options: schema.def.options.map(overridesOf) })
  if (schema instanceof z.ZodRecord)
    return z.record(schema.def.keyType, overridesOf(schema.def.valueType).nullable())
  // Notes belong to one schema: a copy has none yet.
  if (!(schema instanceof z.ZodObject)) return (schema as z.ZodType).clone()
  const fields = Object.entries(schema.def.shape).map(
    ([name, field]) => [name, overridesOf(field).nullish()] as const,
  )
  return z.strictObject(Object.fromEntries(fields))
}
