/** What a runner reports. */
import { z } from 'zod'

const count = z.int().min(0).max(10_000_000)
const TestCounts = z.object({ failCount: count, skipCount: count, totalCount: count })
export type TestCounts = z.output<typeof TestCounts>

/** Written when the build is over. The steps may have written it: readers must not trust it. */
export const BuildReport = z.object({
  tests: TestCounts.optional(),
  /** Container images that were built. */
  containerImages: z
    .array(
      z.object({
        name: z.string().max(500),
        tag: z.string().max(200),
        digest: z.string().max(200).optional(),
      }),
    )
    .max(100)
    .default([]),
  failure: z.string().max(10_000).optional(),
})
export type BuildReport = z.output<typeof BuildReport>
