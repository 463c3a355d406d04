/** Schemas that many operations share: kinds of query parameters, and passed-on answers. */
import { z } from 'zod'

export const textModel = z.string()
export const maybeText = textModel.optional()
/** Text that names what the request is about. */
export const nonEmpty = z.string().min(1)
/** A whole number in decimal digits. */
export const integer = z.int().min(-2_147_483_648).max(2_147_483_647)
/** How many, or a position: a whole number from 0. */
export const countModel = z.int().min(0)
/** Accepts true, false, on, off, yes, no, 1 and 0. */
export const flagModel = z.boolean()
/** Repeated or comma-separated. */
export const textList = z.array(z.string())
export const nonEmptyList = textList.min(1)

/** A moment. */
export const millisecondsModel = z.int()

/** A body that is no document. */
export const bytes = z.string().meta({ format: 'binary' })
export const AnyObject = z.looseObject({})
export const AnyList = z.array(z.unknown())
export const ObjectList = z.array(AnyObject)
export const TextList = z.array(z.string())
/** The answer has no body at all. */
export const nothing = z
  .undefined()
  .describe('Nothing: status 200, content length 0, no content type.')
/** The path of a task or an execution that was started. */
export const Ref = z
  .looseObject({
    ref: z.string().describe('Path relative to the base URL: /tasks/{id} or /pipelines/{id}.'),
  })
  .meta({ id: 'Ref', description: 'Where to find what was started.' })

/** The answer to a request that submits a task. */
export const submitted = { success: 202, answer: Ref } as const

/** Fields of an object with one schema. */
export function alike<Schema extends z.ZodType, Name extends string>(
  schema: Schema,
  ...names: readonly Name[]
) {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>
}

/** Texts that may be null or missing, as fields of an object. */
export function nullableTexts<Name extends string>(
  ...names: readonly Name[]
): Record<Name, typeof nullableText> {
  return alike(nullableText, ...names)
}

const nullableText = z.string().nullish()

/** An object of a service of which only some texts are described. @param id Name in the API document */
export function described(id: string, ...texts: readonly string[]): z.ZodObject {
  return model(id, nullableTexts(...texts))
}

type Shape = z.core.$ZodLooseShape

/** An object that may have other fields. @param id Name in the API document */
export function model<const Fields extends Shape>(
  id: string,
  fields: Fields,
): z.ZodObject<Fields, z.core.$loose>
export function model<const Fields extends Shape>(
  id: string,
  description: string,
  fields: Fields,
): z.ZodObject<Fields, z.core.$loose>
export function model(id: string, ...[first, second]: [Shape] | [string, Shape]): z.ZodObject {
  return typeof first === 'string'
    ? z.looseObject(second as Shape).register(z.globalRegistry, { id, description: first })
    : z.looseObject(first).register(z.globalRegistry, { id })
}
