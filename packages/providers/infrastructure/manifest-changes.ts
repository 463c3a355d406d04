/** What deployments of manifests would change, and what has changed since. */
import { objectOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import { type Answer, accessOf, checkRight, get, type InfrastructureRoute, isReadable } from './route.ts'

/** Drift of an application's deployed objects, by a query for account and namespace. */
const drift: Answer = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const place = { account: textOf(queryValue(request, 'account')), location: textOf(queryValue(request, 'location')) }
  const wanted = { application: pathValue(request, 'application'), ...place }
  const found = await Promise.all(
    infrastructure.providers.map(
      ({ manifests }) => manifests?.drift({ ...wanted, isReadable: (account) => access.mayOnAccount(account, 'READ') }) ?? [],
    ),
  )
  return found
    .flat()
    .filter((resource) => isReadable(access, resource))
    .map(({ view }) => view)
}

/** Needs what the deployment needs: it shows what is there now. */
const plan: Answer = async (request, infrastructure) => {
  const description = objectOf(request.body)
  const [account, application] = [textOf(description['account']), textOf(description['application'])]
  if (account === undefined || application === undefined) {
    throw new PortError(400, 'A plan needs "account", "application" and "manifests", a list of objects.')
  }
  const access = await accessOf(request, infrastructure)
  checkRight(access, { kind: 'account', name: account, right: 'WRITE' })
  checkRight(access, { kind: 'application', name: application, right: 'WRITE' })
  for (const { accounts, manifests } of infrastructure.providers) {
    if (manifests !== undefined && accounts.some(({ name }) => name === account)) {
      return manifests.plan({ ...description, account, moniker: { app: application } }, request.user)
    }
  }
  throw new PortError(400, `The account "${account}" does not exist at a provider that deploys manifests.`)
}

export const driftOfApplication = get('/applications/:application/drift', drift, ['application'])

export const manifestChangeRoutes: InfrastructureRoute[] = [
  driftOfApplication,
  { method: 'POST', path: '/manifests/plan', answer: plan },
]
