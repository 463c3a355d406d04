/** Analyses of tests: started at the embedded canary service, and awaited. */
import assert from 'node:assert/strict'
import type { Backends } from '../../support/backends.ts'
import { waitFor } from '../../support/wait-until.ts'

export interface EndedAnalysis {
  readonly status: string
  readonly result?: {
    readonly judgeResult: {
      readonly score: { readonly score: number; readonly classification: string }
    }
    readonly canaryDuration: string
    readonly outlook?: { readonly verdict?: string; readonly reason: string }
  }
  readonly exception?: { readonly details: { readonly errors: readonly string[] } }
  readonly metricSetPairListId?: string
}

/** @param order The body of `POST /canary` @returns the id of the analysis */
export async function startAnalysis(backends: Backends, order: object): Promise<string> {
  const { status, body } = await backends.ask('kayenta', 'POST', '/canary?application=web', order)
  assert.equal(status, 200, JSON.stringify(body))
  return (body as { canaryExecutionId: string }).canaryExecutionId
}

export async function endedAnalysis(
  backends: Backends,
  id: string,
  headers: Record<string, string> = {},
): Promise<EndedAnalysis> {
  return waitFor(async () => {
    const { body } = await backends.ask('kayenta', 'GET', `/canary/${id}`, undefined, headers)
    return (body as { complete: boolean }).complete ? (body as EndedAnalysis) : undefined
  }, 'the end of the analysis')
}

/** @returns what was measured of the first metric, or why nothing was */
export async function measureFirst(
  backends: Backends,
  order: object,
): Promise<{ control: unknown; experiment: unknown } | string> {
  const { exception, metricSetPairListId } = await endedAnalysis(
    backends,
    await startAnalysis(backends, order),
  )
  if (exception !== undefined) return exception.details.errors[0] ?? ''
  const { body } = await backends.ask('kayenta', 'GET', `/metricSetPairList/${metricSetPairListId}`)
  const [pair] = body as { values: { control: unknown; experiment: unknown } }[]
  assert.ok(pair)
  return pair.values
}
