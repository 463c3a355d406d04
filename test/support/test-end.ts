/** The part of a test that supports need which start something; the benchmark has one, too. */

export interface TestEnd {
  /** Runs at the end, in the order of the calls. */
  after(end: () => unknown): void
}
