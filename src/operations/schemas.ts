/** Schemas that many operations share: kinds of query parameters, and passed-on answers. */
import { z } from 'zod'

export const text = z.string()
/** Text that names what the request is about. */
export const nonEmpty = z.string().min(1)
/** A whole number in decimal digits. */
export const integer = z.int().min(-2_147_483_648).max(2_147_483_647)
/** How many, or a position: a whole number from 0. */
export const count = z.int().min(0)
/** true, false, on, off, yes, no, 1 or 0. */
export const flag = z.boolean()
/** Repeated or comma-separated. */
export const list = z.array(z.string())
export const nonEmptyList = list.min(1)

/** A moment. */
export const milliseconds = z.int()

/** A body that is no document. */
export const bytes = z.string().meta({ format: 'binary' })
export const AnyObject = z.looseObject({})
export const AnyList = z.array(z.unknown())
export const ObjectList = z.array(AnyObject)
export const TextList = z.array(z.string())
/** The answer has no body at all. */
export const nothing = z.undefined().describe('Nothing: status 200, content length 0, no content type.')
/** The path of a task or an execution that was started. */
export const Ref = z
  .looseObject({ ref: z.string().describe('Path relative to the base URL: /tasks/{id} or /pipelines/{id}.') })
  .meta({ id: 'Ref', description: 'Where to find what was started.' })

/** An object of a service of which only some texts are described. @param id Name in the API document */
export function described(id: string, ...texts: readonly string[]): z.ZodObject {
  return z.looseObject(Object.fromEntries(texts.map((name) => [name, z.string().nullish()]))).meta({ id })
}
