/** The file that the runner of `run-test-files.ts` is given: a test that loads the next file, whose tests then come first. */
import { once } from 'node:events'
import { test } from 'node:test'
import type { Order } from './run-test-files.ts'

const name = 'loads'
void test(name, loadNext)

/** The runner has told the parent that this test begins, and the parent answers. */
async function loadNext(): Promise<void> {
  const [{ file }] = (await once(process, 'message')) as [Order]
  if (file === undefined) return
  try {
    await import(file)
  } catch (cause) {
    throw new Error(`${file} cannot be loaded`, { cause })
  } finally {
    void test(name, loadNext)
  }
}
