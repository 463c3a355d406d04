/** Executions of an Orca. */
import { objectOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { isPassing } from '@fairlead/base/port-error.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Executions } from '@fairlead/ports/executions.ts'
import type { CallService, ServiceCall } from '@fairlead/ports/service-call.ts'
import { successOf } from './success.ts'

export function openOrca(call: CallService): Executions {
  const ask = async (request: ServiceCall, { identity }: Caller): Promise<unknown> => {
    return successOf('The orchestrator', await call('orca', { ...request, headers: identity }))
  }
  return {
    runsOtherStages: true,
    async start(body, _stored, as) {
      await ask({ method: 'POST', path: '/orchestrate', body }, as)
    },
    async recordFailure(definition, problem, _stored, as) {
      const path = pathTo`/pipelines/${String(definition['executionId'])}`
      // The start may have arrived although its answer did not.
      const isKnown = await ask({ method: 'GET', path }, as).then(
        () => true,
        (error: unknown) => {
          if (isPassing(error)) throw error
          return false
        },
      )
      if (!isKnown)
        await ask(
          { method: 'POST', path: '/fail', body: { ...definition, errorMessage: problem } },
          as,
        )
    },
    plan: async (body, as) =>
      objectOf(await ask({ method: 'POST', path: '/v2/pipelineTemplates/plan', body }, as)),
    isRunning: () => false,
    noteChange() {},
  }
}
