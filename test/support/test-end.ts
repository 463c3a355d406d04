/** The part of a test that those who start something need: where they leave word of how it ends. The benchmark has one, too. */
import type { TestContext } from 'node:test'

export type TestEnd = Pick<TestContext, 'after'>
