/** Previews: environments of branches, each with hosts of its own. */
import { createHash } from 'node:crypto'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  environmentNamesOf,
  mergeEnvironment,
  type ServiceHere,
} from '@fairlead/model/app-file/merge-environment.ts'
import { type ReadApp, readApp, readFile } from './app-environment.ts'

const previewPrefix = 'preview-'
/** Names of clusters and labels of hosts have limits. */
const maxSlugLength = 20
const defaultExpiryMs = 7 * 24 * 60 * 60_000

export function isPreview(environment: string): boolean {
  return environment.startsWith(previewPrefix)
}

/** Environment of a branch; branches that differ only in signs get different ones. */
export function previewOf(branch: string): string {
  return previewPrefix + slugOf(branch)
}

function slugOf(branch: string): string {
  const plain = branch
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  if (plain === branch && plain.length <= maxSlugLength) return plain
  const digest = createHash('sha256').update(branch).digest('hex').slice(0, 6)
  return `${plain.slice(0, maxSlugLength - 7).replace(/-$/, '')}-${digest}`.replace(/^-/, '')
}

/**
 * The file as the preview of a branch has it: its only environment. Schedules are left out. Where previews run, under which hosts and
 * with which databases is for the file of the connected branch: who may push another one need not be trusted with that.
 *
 * @param main Text of that file; where it has no previews any more, the branch's own counts for those that are left
 * @throws {PortError} 400 with all that is wrong in the file, or where the app has no previews
 */
export function readPreview(text: string, branch: string, main: string): ReadApp {
  const { application, digest } = readApp(text)
  const file = readFile(text)
  const rules = hasPreviews(main) ? readFile(main) : file
  const { preview, account } = rules
  if (preview === undefined || preview === false)
    throw new PortError(
      400,
      `${application} has no previews. Write "preview: true" in its app file.`,
    )
  const first = mergeEnvironment(rules, environmentNamesOf(rules)[0] ?? '')
  const usual = first.services.flatMap(({ hosts }) => hosts)[0]?.host.replace(/^\*\./, '')
  const pattern = (preview === true ? undefined : preview.hosts) ?? `{branch}.${usual ?? ''}`
  const part = preview !== true && preview.attach === 'none' ? { attach: null } : {}
  const here = mergeEnvironment({ ...file, account }, previewOf(branch), part)
  const services = here.services
    .filter(({ schedule }) => schedule === undefined)
    .map(withHosts(pattern.replace('{branch}', slugOf(branch))))
  const environment = { ...here, services, redirects: {}, promote: undefined }
  return { application, digest, environments: [environment] }
}

/** All services share the host of the preview, by their paths; of two with one path, the second gets a host with its name. */
function withHosts(host: string): (service: ServiceHere) => ServiceHere {
  const taken = new Set<string>()
  return (service) => {
    const paths = new Map(service.hosts.map((each) => [each.path, each]))
    const hosts = [...paths.values()].map((each) => {
      const isTaken = taken.has(each.path)
      taken.add(each.path)
      return { ...each, host: isTaken ? `${service.name}-${host}` : host }
    })
    const { health } = service
    const isUsual = service.hosts.some((each) => each.host === health?.host)
    return {
      ...service,
      hosts,
      health: health && (isUsual ? { ...health, host: hosts[0]?.host } : health),
    }
  }
}

export function hasPreviews(text: string): boolean {
  return (readFile(text).preview ?? false) !== false
}

/** Milliseconds after its last deployment. */
export function expiryOf(text: string): number {
  const { preview } = readFile(text)
  return (typeof preview === 'object' ? preview.expire : undefined) ?? defaultExpiryMs
}

/** Whether the key of a compiled object is one of the environment, or, without one, of any preview. */
export function isOfPreview(key: string, application: string, environment?: string): boolean {
  const balancer = `load-balancer ${application}-${environment ?? previewPrefix}`
  return environment === undefined
    ? key.startsWith(balancer) || key.startsWith(`pipeline deploy ${previewPrefix}`)
    : key.startsWith(`${balancer}-`) || key === `pipeline deploy ${environment}`
}
