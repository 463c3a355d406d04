/** `fairlead domains`: hosts of an app on the front of its machine, with their certificates. */
import { lookup } from 'node:dns/promises'
import { type CommandContext, defineCommand } from '../command.ts'
import { exitCodes, misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { loadStatus, type ServedHost } from './status.ts'

/** Times in milliseconds since the epoch. */
interface Domain extends Pick<ServedHost, 'host' | 'certificate'> {
  readonly application: string
  readonly isAdded: boolean
  readonly loadBalancers: readonly string[]
  readonly address?: string
}

const add = defineCommand({
  name: 'add',
  summary: 'serve a further host by a service of the app',
  words: '<host>',
  options: {
    service: {
      type: 'text',
      value: 'SERVICE',
      summary: 'the service; the only one with hosts unless given',
    },
  },
  run: async (context, { service }) => {
    const { session, output, connect, words } = context
    const [host = ''] = words
    const client = await connect()
    const loadBalancer = await findBalancer(context, service)
    const added = await client.put<Domain>(pathOf`/apps/${session.app()}/domains/${host}`, {
      loadBalancer,
    })
    output.result(added, [
      `${added.host} is served by ${added.loadBalancers.join(', ')}: ${added.address ?? ''}`,
      'Its DNS record has to lead to this machine.',
    ])
  },
})

/** Undefined where the instance may choose. @throws {Failure} with 3 for an unknown service */
async function findBalancer(
  { session, connect }: CommandContext,
  service: string | undefined,
): Promise<string | undefined> {
  const wanted = session.environment()
  if (service === undefined && wanted === undefined) return undefined
  const { environments } = await loadStatus(await connect(), session.app())
  const environment = environments.find(({ name }) => wanted === undefined || name === wanted)
  const services = environment?.services.filter(({ hosts }) => hosts.length > 0) ?? []
  const found = services.filter(({ name }) => service === undefined || name === service)
  const [only] = found
  if (only !== undefined && found.length === 1) return only.cluster
  const names = services.map(({ name }) => name).join(', ') || 'none'
  throw misuse(
    `${environment?.name ?? wanted} has ${found.length === 0 ? `no service "${service ?? ''}" with hosts` : 'several services with hosts'}.`,
    `Name one with --service: ${names}.`,
  )
}

const remove = defineCommand({
  name: 'remove',
  summary: 'serve a host no more that was added',
  words: '<host>',
  run: async ({ session, output, questions, connect, words: [host = ''] }) => {
    const client = await connect()
    const application = session.app()
    if (!(await questions.confirm(`Remove the host ${host} from ${application}?`)))
      return exitCodes.failed
    await client.delete(pathOf`/apps/${application}/domains/${host}`)
    output.result({ host, removed: true }, `${host} is removed.`)
    return exitCodes.done
  },
})

interface CheckedDomain extends Domain {
  /** What the resolver of this machine answers. */
  readonly addresses?: readonly string[]
}

const check = defineCommand({
  name: 'check',
  summary: 'ask DNS for the hosts; exit code 1 if one has no address, or no valid certificate',
  words: '[host]',
  run: async (context) => {
    const [wanted] = context.words
    const all = await loadDomains(context)
    const found = all.filter(({ host }) => wanted === undefined || host === wanted)
    if (found.length === 0 && wanted !== undefined)
      throw misuse(
        `${wanted} is no host of ${context.session.app()}.`,
        `It has: ${all.map(({ host }) => host).join(', ') || 'none'}.`,
      )
    const checked = await Promise.all(
      found.map(async (domain) => ({ ...domain, addresses: await addressesIn(domain) })),
    )
    show(context.output, checked)
    const isFine = (domain: CheckedDomain) =>
      (!hasAddress(domain) || domain.addresses?.length !== 0) &&
      (domain.certificate === undefined || domain.certificate.state === 'valid')
    return checked.every(isFine) ? exitCodes.done : exitCodes.failed
  },
})

export const domains = defineCommand({
  name: 'domains',
  summary: 'list hosts with their certificates, or change them: add, remove, check',
  group: 'app',
  actions: [add, remove, check],
  run: async (context) => {
    show(context.output, await loadDomains(context))
    return exitCodes.done
  },
})

async function loadDomains({ session, connect }: CommandContext): Promise<Domain[]> {
  return (await connect()).get<Domain[]>(pathOf`/apps/${session.app()}/domains`)
}

/** Wildcards are no name, and browsers themselves know the address of `localhost`. */
const hasAddress = ({ host }: Domain) => !/^\*\.|\.localhost$/.test(host)

async function addressesIn(domain: Domain): Promise<string[]> {
  const { host } = domain
  if (!hasAddress(domain)) return []
  const found = await lookup(host, { all: true }).catch(() => [])
  return found.map(({ address }) => address)
}

function show(output: CommandContext['output'], found: readonly CheckedDomain[]): void {
  const isChecked = found.some(({ addresses }) => addresses !== undefined)
  const rows = found.map((domain) => {
    const { host, application, isAdded, loadBalancers, address, certificate, addresses } = domain
    return [
      host,
      application,
      isAdded ? 'added' : 'file',
      loadBalancers.join(' ') || '-',
      ...(isChecked ? [addresses?.join(' ') || '-'] : []),
      certificate?.state ?? (address?.startsWith('https:') ? 'own' : 'none'),
      dayOf(certificate?.endMs),
      dayOf(certificate?.nextMs),
    ]
  })
  const causes = found.flatMap(({ host, certificate }) =>
    certificate?.cause === undefined ? [] : [`${host}: ${certificate.cause}`],
  )
  const dns = isChecked ? ['DNS HERE'] : []
  const heads = ['HOST', 'OWNER', 'FROM', 'SERVED BY', ...dns, 'CERTIFICATE', 'UNTIL', 'NEXT']
  output.result(
    found,
    rows.length === 0 ? 'No host belongs to it.' : [...output.table([heads, ...rows]), ...causes],
  )
}

function dayOf(ms: number | undefined): string {
  return ms === undefined ? '-' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}
