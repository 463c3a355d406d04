/** Fairlead's own host on the front: a site that leads to the port of this process. */
import type { DesiredLoadBalancer, FrontSite } from '@fairlead/base/net/agent-protocol.ts'
import { loopback } from '../machine.ts'
import type { LocalSettings } from '../settings.ts'

type InstanceSettings = Pick<LocalSettings, 'front' | 'ownPorts'>

/** No load balancer of an account has such an id. */
const id = 'fairlead'
/** No application has such a name. */
const owner = 'Fairlead itself'
/** Folders of apps and images are uploaded. */
const bodyBytes = 4 * 1024 ** 3
const minute = 60_000

/** Undefined: it has no host of its own. */
export function instanceSite({
  front: { instanceHost: host },
}: InstanceSettings): FrontSite | undefined {
  if (host === undefined) return undefined
  return {
    ...{ owner, loadBalancer: id, redirects: [] },
    rules: [{ host, path: '/', strip: false }],
    limits: {
      bodyBytes,
      headerBytes: 64 * 1024,
      readMs: minute,
      idleMs: 10 * minute,
      websocketMs: 60 * minute,
    },
  }
}

export function instanceBalancers({
  front,
  ownPorts: [port],
}: InstanceSettings): DesiredLoadBalancer[] {
  if (front.instanceHost === undefined || port === undefined) return []
  const member = { instanceId: id, host: loopback, port, inService: true }
  return [
    {
      ...{ id, listeners: [], members: [member] },
      healthCheck: {
        ...{ kind: 'tcp', path: '/', intervalMs: 1000, timeoutMs: 1000 },
        ...{ healthyThreshold: 1, unhealthyThreshold: 2 },
      },
    },
  ]
}
