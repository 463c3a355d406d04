/** Optional texts of requests that pipelines make. */
import { z } from 'zod'

/** Expressions of pipelines make numbers of texts, and older clients send null. */
export const lenientText = z
  .union([z.string(), z.number(), z.boolean()])
  .nullish()
  .transform((value) =>
    value === null || value === undefined ? undefined : String(value).trim() || undefined,
  )
