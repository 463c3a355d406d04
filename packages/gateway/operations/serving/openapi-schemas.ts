/** Conversion of zod schemas to JSON schemas; those with an id become components. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { z } from 'zod'

const componentsPath = '#/components/schemas/'

/** All schemas of the API document. They are converted together, so that a concept is converted once. */
export class ApiSchemas {
  readonly #added = { input: new Map<string, z.ZodType>(), output: new Map<string, z.ZodType>() }
  readonly #components: Record<string, JsonObject> = {}
  #converted: Record<'input' | 'output', Readonly<Record<string, JsonObject>>> | undefined

  add(io: 'input' | 'output', key: string, schema: z.ZodType): void {
    this.#added[io].set(key, schema)
  }

  get(io: 'input' | 'output', key: string): JsonObject {
    this.#converted ??= { input: this.#convert('input'), output: this.#convert('output') }
    return this.#converted[io][key] ?? {}
  }

  reference(io: 'input' | 'output', key: string, name: string): JsonObject {
    const schema = this.get(io, key)
    if ('$ref' in schema) return schema
    this.#addComponent(name, schema)
    return { $ref: componentsPath + name }
  }

  components(): Record<string, JsonObject> {
    return Object.fromEntries(Object.entries(this.#components).sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #convert(io: 'input' | 'output'): Record<string, JsonObject> {
    const all = z.object(Object.fromEntries(this.#added[io]))
    const text = JSON.stringify(
      z.toJSONSchema(all, { io, unrepresentable: 'any', override: simplify }),
    )
    const { properties, $defs } = JSON.parse(
      text.replaceAll('"#/$defs/', `"${componentsPath}`),
    ) as Converted
    for (const [name, schema] of Object.entries($defs ?? {})) this.#addComponent(name, schema)
    return properties
  }

  /** @throws {Error} when two shapes have the name: a mistake in the declarations */
  #addComponent(name: string, schema: JsonObject): void {
    const known = this.#components[name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(
        `two schemas have the name ${name}: ${JSON.stringify(known)} and ${JSON.stringify(schema)}`,
      )
    this.#components[name] = schema
  }
}

type JsonSchema = z.core.JSONSchema.BaseSchema

interface Converted {
  properties: Record<string, JsonObject>
  $defs?: Record<string, JsonObject>
}

const int32 = 2_147_483_647

function isContainer({ type, properties, additionalProperties }: JsonSchema): boolean {
  return (
    type === 'array' ||
    (type === 'object' && properties === undefined && additionalProperties !== undefined)
  )
}

/**
 * Says with a format what zod says with bounds. No object is closed: clients must let later versions, and services that
 * Fairlead passes on, add fields. Generators cannot name a choice with lists or maps, which is left open. `hasOptions` beside `options` is left to those: generators make a method of that name for `options`.
 */
function simplify({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  const { type, minimum, maximum } = jsonSchema
  if (type === 'integer') {
    if (maximum === Number.MAX_SAFE_INTEGER || maximum === int32) {
      jsonSchema.format = maximum === int32 ? 'int32' : 'int64'
      delete jsonSchema.maximum
    }
    if (minimum === Number.MIN_SAFE_INTEGER || minimum === -int32 - 1) delete jsonSchema.minimum
  }
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  const choices = jsonSchema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  if (choices.length > 1 && choices.some(isContainer)) delete jsonSchema.anyOf
  const properties = jsonSchema.properties ?? {}
  for (const name in properties)
    delete properties[`has${name.charAt(0).toUpperCase()}${name.slice(1)}`]
}
