/** What runs for an application: clusters, server groups, load balancers, instances and jobs, and the roll-ups of them. */
import { BackendError } from '../backend.ts'
import { empty, type InfrastructureRoute, none, notFound, pathValue, queryValue } from './route.ts'

const cluster = '/applications/:application/clusters/:account/:cluster'

const noCluster = notFound('Cluster', 'cluster', 'account', 'application')

const noServerGroup = notFound('Server group', 'name', 'account', 'region')

const noTarget: InfrastructureRoute['answer'] = (request) => {
  const place = ['provider', 'account', 'scope', 'cluster'].map((name) => pathValue(request, name)).join('/')
  throw new BackendError(404, `unable to find ${pathValue(request, 'target')} in ${place}`)
}

const noJob = notFound('Job', 'account', 'location', 'id')

/** Exactly one of `applications` and `ids`; an unknown id is skipped, a malformed one is refused. */
const serverGroupsByName: InfrastructureRoute['answer'] = (request) => {
  const applications = queryValue(request, 'applications')
  const ids = queryValue(request, 'ids')
  if ((applications === undefined) === (ids === undefined)) {
    throw new BackendError(400, 'Give either "applications" or "ids", and not both.')
  }
  const malformed = ids?.split(',').find((id) => id.split(':').length !== 3 || id.split(':').includes(''))
  if (malformed !== undefined) {
    throw new BackendError(400, `The id "${malformed}" does not have the form account:region:name.`)
  }
  return []
}

const scalingActivities: InfrastructureRoute['answer'] = (request, context) => {
  if (queryValue(request, 'region') === undefined) throw new BackendError(400, 'The query parameter "region" is required.')
  return noCluster(request, context)
}

export const applicationRoutes: InfrastructureRoute[] = [
  { method: 'GET', path: '/applications', answer: none },
  { method: 'GET', path: '/applications/:application', answer: notFound('Application', 'application') },

  { method: 'GET', path: '/applications/:application/clusters', answer: empty },
  { method: 'GET', path: '/applications/:application/clusters/:account', answer: notFound('Clusters', 'account', 'application') },
  { method: 'GET', path: cluster, answer: noCluster },
  { method: 'GET', path: `${cluster}/:provider`, answer: noCluster },
  { method: 'GET', path: `${cluster}/:provider/loadBalancers`, answer: none },
  { method: 'GET', path: `${cluster}/:provider/serverGroups`, answer: noCluster },
  { method: 'GET', path: `${cluster}/:provider/serverGroups/:name`, answer: noCluster },
  { method: 'GET', path: `${cluster}/:provider/serverGroups/:name/scalingActivities`, answer: scalingActivities },
  { method: 'GET', path: `${cluster}/:provider/:scope/serverGroups/target/:target`, answer: noTarget },
  { method: 'GET', path: `${cluster}/:provider/:scope/serverGroups/target/:target/:summaryType`, answer: noTarget },

  { method: 'GET', path: '/applications/:application/serverGroups', answer: none },
  { method: 'GET', path: '/applications/:application/serverGroups/:account/:region/:name', answer: noServerGroup },
  { method: 'GET', path: '/applications/:application/serverGroups/:account/:name/events', answer: none },
  { method: 'GET', path: '/serverGroups', answer: serverGroupsByName },
  { method: 'GET', path: '/serverGroups/:account/:region/:name', answer: noServerGroup },
  { method: 'GET', path: '/applications/:application/serverGroupManagers', answer: none },
  { method: 'GET', path: '/applications/:application/rawResources', answer: none },

  { method: 'GET', path: '/applications/:application/loadBalancers', answer: none },
  { method: 'GET', path: '/applications/:application/functions', answer: none },
  { method: 'GET', path: '/functions', answer: none },

  { method: 'GET', path: '/instances/:account/:region/:id', answer: notFound('Instance', 'id') },
  { method: 'GET', path: '/instances/:account/:region/:id/console', answer: notFound('Instance', 'id') },

  { method: 'GET', path: '/applications/:application/jobs', answer: none },
  { method: 'GET', path: '/applications/:application/jobs/:account/:location/:id', answer: noJob },
  { method: 'DELETE', path: '/applications/:application/jobs/:account/:location/:id', answer: noJob },
  { method: 'GET', path: '/applications/:application/jobs/:account/:location/:id/:fileName', answer: empty },

  { method: 'GET', path: '/manifests/:account/:location/:name', answer: notFound('Manifest', 'name', 'account', 'location') },
]
