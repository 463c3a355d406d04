/** What can be chosen from when something is deployed: networks, firewalls, key pairs, certificates, tags and the like. */
import { empty, type InfrastructureRoute, none, notFound, queryValue } from './route.ts'

/** With a region the map of regions shrinks to the list of that one. */
const byRegion: InfrastructureRoute['answer'] = (request) => (queryValue(request, 'region') === undefined ? {} : [])

export const lookupRoutes: InfrastructureRoute[] = [
  { method: 'GET', path: '/networks', answer: empty },
  ...['/networks/:provider', '/subnets', '/subnets/:provider', '/vpcs', '/instanceTypes', '/keyPairs'].map(listed),
  ...['/certificates', '/certificates/:provider', '/roles/:provider', '/storage', '/features/stages', '/installedPlugins'].map(
    listed,
  ),

  { method: 'GET', path: '/securityGroups', answer: empty },
  { method: 'GET', path: '/securityGroups/:account', answer: empty },
  { method: 'GET', path: '/securityGroups/:account/:provider', answer: byRegion },
  { method: 'GET', path: '/securityGroups/:account/:provider/:name', answer: empty },
  {
    method: 'GET',
    path: '/securityGroups/:account/:provider/:region/:name',
    answer: notFound('Security group', 'name', 'account', 'region'),
  },

  { method: 'GET', path: '/tags', answer: none },
  { method: 'GET', path: '/tags/*', answer: notFound('Entity tags', '*') },

  listed('/cloudMetrics/:provider/:account/:region'),
  {
    method: 'GET',
    path: '/cloudMetrics/:provider/:account/:region/:metric/statistics',
    answer: notFound('Metric', 'metric', 'account', 'region'),
  },
  listed('/servicebroker/:account/services'),
  { method: 'GET', path: '/servicebroker/:account/serviceInstance', answer: notFound('Service instance', 'account') },
  ...['/ecs/ecsClusters', '/ecs/ecsClusterDescriptions/:account/:region', '/ecs/cloudMetrics/alarms'].map(listed),
  ...['/ecs/secrets', '/ecs/serviceDiscoveryRegistries'].map(listed),
]

function listed(path: string): InfrastructureRoute {
  return { method: 'GET', path, answer: none }
}
