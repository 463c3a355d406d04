/** Kind, notes and default of a setting, from its schema. */

import type { SettingNotes } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

/** The schema that decides how a text is read: without default, optional and transformations. */
export function coreOf(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = unwrap(schema)
  return inner === undefined ? schema : coreOf(inner)
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return schema.def.innerType
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return schema.def.innerType
  if (schema instanceof z.ZodPipe) return schema.def.in
  return undefined
}

const knownNotes = new WeakMap<z.core.$ZodType, SettingNotes>()

/** The notes of the schema and of what it wraps; the outer ones win. */
export function notesOf(schema: z.core.$ZodType): SettingNotes {
  return knownNotes.getOrInsertComputed(schema, collectNotes)
}

function collectNotes(schema: z.core.$ZodType): SettingNotes {
  const inner = unwrap(schema)
  const own = (z.globalRegistry.get(schema as z.ZodType) ?? {}) as SettingNotes
  return inner === undefined ? own : { ...notesOf(inner), ...own }
}

/** The default as an operator would write it; undefined when there is none. */
export function defaultOf(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return schema.def.defaultValue
  const inner = unwrap(schema)
  return inner === undefined ? undefined : defaultOf(inner)
}

export function typeOf(schema: z.core.$ZodType): string {
  const named = notesOf(schema).type
  if (named !== undefined) return named
  const core = coreOf(schema)
  if (core instanceof z.ZodString) return 'text'
  if (core instanceof z.ZodNumber) return 'number'
  if (core instanceof z.ZodBoolean) return 'true or false'
  if (core instanceof z.ZodEnum) return core.options.join(', ')
  if (core instanceof z.ZodArray)
    return coreOf(core.element) instanceof z.ZodObject
      ? 'list of maps'
      : `list of ${typeOf(core.element)}`
  if (core instanceof z.ZodRecord || core instanceof z.ZodObject) return 'map'
  return 'anything'
}
