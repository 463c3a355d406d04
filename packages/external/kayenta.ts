/** Canary analyses of a Kayenta. */
import { objectList, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type Canaries, toCanaryAnalysis, toCanaryConfiguration } from '@fairlead/ports/canaries.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import { senderTo } from './success.ts'

const toStarted = shape({ canaryExecutionId: textOf })
const toConfigurations = objectList(toCanaryConfiguration)

export function openKayenta(call: CallService): Canaries {
  const send = senderTo('kayenta', call)
  return {
    name: 'kayenta',
    pauseMs: 1000,
    async hasConfiguration({ id, account: configurationAccountName }, as) {
      const path = pathTo`/canaryConfig/${id}` + formatQuery({ configurationAccountName })
      return (await send({ method: 'GET', path }, as, [404])).status !== 404
    },
    async configurations({ application, account: configurationAccountName }, as) {
      const path = `/canaryConfig${formatQuery({ application, configurationAccountName })}`
      return toConfigurations((await send({ method: 'GET', path }, as)).body)
    },
    async start(request, as) {
      const {
        configId,
        application,
        execution: parentPipelineExecutionId,
        scopes,
        thresholds,
        siteLocal,
      } = request
      const query = formatQuery({
        application,
        parentPipelineExecutionId,
        metricsAccountName: request.metricsAccount,
        configurationAccountName: request.configurationAccount,
        storageAccountName: request.storageAccount,
      })
      const body = { scopes, ...(thresholds !== undefined && { thresholds }), siteLocal }
      const answer = await send(
        { method: 'POST', path: pathTo`/canary/${configId}` + query, body },
        as,
      )
      const { canaryExecutionId: id } = toStarted(answer.body)
      if (id === undefined)
        throw new PortError(
          500,
          'kayenta has accepted the analysis and names no canaryExecutionId.',
        )
      return id
    },
    async analysis({ id, storageAccount: storageAccountName }, as) {
      const path = pathTo`/canary/${id}` + formatQuery({ storageAccountName })
      return toCanaryAnalysis((await send({ method: 'GET', path }, as)).body)
    },
    cancel: async (id, as) =>
      void (await send(
        { method: 'PUT', path: pathTo`/pipelines/${id}/cancel`, body: {} },
        as,
        [400, 404, 405],
      )),
  }
}
