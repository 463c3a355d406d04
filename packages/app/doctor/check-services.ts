/** The services behind the gateway: address, health, and how long the answer takes. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { GatewayError } from '@fairlead/base/errors.ts'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
  type Timeouts,
} from '@fairlead/base/findings/finding.ts'
import type { ServiceTls } from '@fairlead/base/services/service-tls.ts'
import {
  type EmbeddableService,
  isEmbeddable,
  type ServiceAddress,
  type ServiceName,
  serviceNames,
} from '@fairlead/base/services/services.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { isPage } from '@fairlead/gateway/upstreams/answer-form.ts'
import { anonymousIdentity } from '@fairlead/gateway/upstreams/identity.ts'
import type { Config } from '../config/config.ts'
import { hideCredentials } from '../config/problems.ts'
import { openQuestions } from './open-questions.ts'

const slowMs = 1000
const maxHealthBytes = 1024 * 1024

export function checkServices({ upstreams, backends }: Config, timeouts: Timeouts): Check[] {
  return serviceNames.flatMap((service) => {
    const { kind, baseUrls, shards, config } = upstreams.services[service]
    if (kind === 'disabled') return []
    const subject = `Service ${service}`
    if (kind === 'embedded' && isEmbeddable(service)) {
      return [
        createCheck(subject, async (report) => {
          const target = await findEmbedded(service, { upstreams, backends })
          return [
            target === undefined
              ? notRunning(report)
              : await checkHealth(target, target.name, { report, ...timeouts }),
          ]
        }),
      ]
    }
    const others = [
      ...shards.map((shard) => shard.baseUrl),
      ...Object.values(config.dynamicEndpoints ?? {}),
    ]
    const addresses = [...new Set([...baseUrls, ...others])]
    return addresses.map((address) =>
      createCheck(subject, async (report) => {
        const target = {
          service,
          address: { kind: 'external', baseUrl: address },
          tls: upstreams.okHttpClient.tls,
        } as const
        return [await checkHealth(target, hideCredentials(address), { report, ...timeouts })]
      }),
    )
  })
}

export function externalServices({ services }: Config['upstreams']): string[] {
  return Object.values(services).flatMap(({ kind, baseUrl }) =>
    kind === 'external' && baseUrl !== undefined ? [baseUrl] : [],
  )
}

interface ServiceMeans extends Timeouts {
  readonly report: Reporter
}

/** Where it answers; undefined while the gateway does not run, with which it does. */
export async function findEmbedded(
  service: EmbeddableService,
  { upstreams, backends }: Pick<Config, 'upstreams' | 'backends'>,
): Promise<(CheckedService & { readonly name: string }) | undefined> {
  const { remote } = upstreams.embedded
  const { tls } = upstreams.okHttpClient
  if (remote !== undefined)
    return {
      service,
      address: { kind: 'embedded', service, remote },
      tls,
      name: remote.baseUrls.join(', '),
    }
  const socketPath = socketPathFor(backends.dataDir, 'backends.sock')
  if (!(await isListening(socketPath))) return undefined
  return {
    service,
    address: { kind: 'embedded', socketPath, service },
    name: 'the embedded back end',
  }
}

export function notRunning(report: Reporter): Finding {
  return report.ok(
    'look for the embedded back end',
    'it starts with the gateway, which is not running here',
  )
}

export interface CheckedService {
  readonly service: ServiceName
  readonly address: ServiceAddress
  readonly tls?: ServiceTls
}

async function checkHealth(
  { service, address, tls }: CheckedService,
  name: string,
  { report, answerMs }: ServiceMeans,
): Promise<Finding> {
  const upstreams = openQuestions(
    { okHttpClient: { tls } },
    { [service]: address },
    answerMs,
    maxHealthBytes,
  )
  const tried = `GET /health of ${name}`
  const startedAtMs = performance.now()
  try {
    const { status, text } = await upstreams.call(service, { path: '/health' }, anonymousIdentity)
    const tookMs = Math.round(performance.now() - startedAtMs)
    const found = `it answers ${status} after ${tookMs} ms`
    if (status >= 400)
      return report.problem(
        tried,
        found,
        'see its log; a 404 may mean that the address belongs to something else',
      )
    if (isPage(text))
      return report.problem(
        tried,
        `${found} with a page of HTML`,
        'the address belongs to something else, such as a login page',
      )
    if (tookMs > slowMs)
      return report.warning(
        tried,
        found,
        'every request of a user waits for it: see what keeps it busy',
      )
    return report.ok(tried, found)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const advice = `start it, correct services.${service}.baseUrl, or set services.${service}.enabled: false`
    return report.problem(tried, `no answer: ${causeOf(error) ?? error.message}`, advice)
  } finally {
    await upstreams.close()
  }
}

function causeOf({ cause }: Error): string | undefined {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown }
  return [code, message].find((text): text is string => typeof text === 'string' && text !== '')
}

/** Whether a gateway runs on this data directory, as its back ends tell. */
export async function isListening(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
