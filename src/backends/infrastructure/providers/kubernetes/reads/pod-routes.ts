/** Route for what the containers of a pod have printed for a pipeline. */
import type { FastifyInstance } from 'fastify'
import { userOf } from '../../../../backend.ts'
import { pathValues } from '../../../../requests/request-values.ts'
import { requireAccess } from '../../../../rights/access.ts'
import { checkReadable } from '../../../route.ts'
import { monikerOf } from '../manifests/moniker.ts'
import type { KubernetesParts } from '../parts.ts'
import { answered, findObject } from './object-lookup.ts'
import { readProperties } from './pod-logs.ts'

export function podRoutes(app: FastifyInstance, parts: KubernetesParts): void {
  app.get('/applications/:application/kubernetes/pods/:account/:location/:pod/:container', async (request) => {
    const wanted = pathValues(request, 'application', 'account', 'location', 'pod', 'container')
    const access = await requireAccess(parts.context, userOf(request))
    checkReadable(access, wanted.application, 'application')
    checkReadable(access, wanted.account, 'account')
    const account = parts.account(wanted.account)
    const found = account && (await findObject(account, wanted.location, `pod ${wanted.pod}`))
    if (account === undefined || found === undefined) return {}
    const { app: owner } = monikerOf(found.object)
    if (owner !== null) checkReadable(access, owner, 'application')
    const log = { namespace: wanted.location, pods: [wanted.pod], container: wanted.container }
    return (await answered(account, () => readProperties(account, log, parts.settings.log))) ?? {}
  })
}
