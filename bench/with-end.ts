/** What a measurement starts as tests do. */
import type { TestEnd } from '../test/support/test-end.ts'

/** What is started as in tests ends here. */
export async function withEnd(use: (t: TestEnd) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = []
  try {
    await use({ after: (end) => void ends.push(end) })
  } finally {
    for (const end of ends) await end()
  }
}
