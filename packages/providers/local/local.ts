/** The provider `local`: server groups are processes of this machine, load balancers its listeners. */

import { realpathSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { parseYaml } from '@fairlead/base/json/yaml.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type { Agent, ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'
import { workFolderOf } from '@fairlead/base/outside/builder-process.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { readAsOwner } from '@fairlead/base/storage/directory-trees.ts'
import { markOfDataDir } from '@fairlead/base/storage/socket-path.ts'
import { createUlids } from '@fairlead/base/storage/ulid.ts'
import type { CertificateCondition } from '@fairlead/base/telemetry/metrics.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Machine } from '@fairlead/ports/machine.ts'
import type { RetainedKind } from '@fairlead/ports/retained-kind.ts'
import type { SecretHolder } from '@fairlead/ports/secrets.ts'
import type { FastifyInstance } from 'fastify'
import type { ArtifactAccount } from '../artifacts/account-type.ts'
import { ImageStore } from '../images/image-store.ts'
import type {
  Account,
  Instance,
  Job,
  LoadBalancer,
  SecurityGroup,
  ServerGroup,
} from '../infrastructure/model.ts'
import type { OperationTypes } from '../infrastructure/operation-type.ts'
import type { ProgramAccess } from '../infrastructure/programs/program-access.ts'
import type {
  CloudProvider,
  ConsoleView,
  ImageReads,
  MetricReads,
} from '../infrastructure/provider.ts'
import { Builders } from './builders.ts'
import type { Certificates, HostCertificate } from './certificates/certificates.ts'
import { openCertificates } from './certificates/open-certificates.ts'
import { Containers } from './containers.ts'
import { Desired } from './desired.ts'
import { toSecurityGroup } from './firewalls.ts'
import { domainRoutes } from './front/domains.ts'
import { FrontCertificates } from './front/front-certificates.ts'
import { findServedHosts, type ServedHost } from './front/served-hosts.ts'
import { toDesiredFronts } from './front/wanted-fronts.ts'
import { createImageArtifacts } from './image-artifacts.ts'
import { createImageReads, imageRoutes } from './local-images.ts'
import { toNetworkViews, toSubnetViews } from './machine.ts'
import { openOperations } from './operations/all.ts'
import type { OperationParts } from './operations/parts.ts'
import { AccountVariables } from './outgoing/account-variables.ts'
import { InstancePorts } from './ports.ts'
import { adoptFolder, confineFile } from './program-sandbox.ts'
import { ProgramSecrets, secretHoldersOf } from './program-secrets.ts'
import { attachedLabel, createLocalPrograms } from './programs/local-programs.ts'
import { oldImages, PulledImages } from './pulled-images.ts'
import { toActivityView } from './reading.ts'
import { isShownJob, Readings } from './readings.ts'
import { Reconciler, type ReconcilerOptions } from './reconciler.ts'
import { certificatesOf, type LocalAccountSettings, type LocalSettings } from './settings.ts'
import { toStatistics } from './traffic-metrics.ts'
import { openAccountUsers } from './users.ts'
import { Volumes } from './volumes.ts'
import { toDesiredState } from './wanted.ts'

const consoleBytes = 256 * 1024
/** The same of an answer that names offsets: what is beyond follows with the next one. */
const partBytes = 1024 * 1024
const maxPropertyFileBytes = 1024 * 1024
/** Reading YAML takes long, and nothing else is done meanwhile. */
const maxYamlLength = 128 * 1024

export class LocalProvider implements CloudProvider {
  readonly id = 'local'
  readonly accounts: readonly Account[]
  readonly operations: OperationTypes
  readonly images: ImageReads
  readonly artifactAccount: ArtifactAccount
  readonly metrics: MetricReads
  readonly retained: readonly RetainedKind[]
  readonly builders: Builders
  readonly machine: Machine
  readonly frontCertificates: FrontCertificates
  readonly programs: ProgramAccess
  readonly parts: OperationParts
  readonly #agent: Agent
  readonly #certificates: Certificates | undefined
  readonly #secrets: ProgramSecrets
  readonly dataDir: string
  readonly #readings: Readings
  /** By the key of the load balancer. */
  readonly #servedHosts: () => ReadonlyMap<string, readonly ServedHost[]>

  constructor(context: BackendContext, settings: LocalSettings) {
    const { db, now } = context
    const dataDir = dirname(db.location() ?? '')
    const desired = new Desired(db)
    const images = new ImageStore({
      db,
      dataDir,
      now,
      bounds: settings.images,
      sandbox: context.settings.outside.sandbox,
    })
    const users = openAccountUsers(settings.accounts)
    for (const { name } of settings.accounts) {
      const problem = users.problemOf(name)
      if (problem !== undefined) context.log.warn({ account: name }, problem)
    }
    const agent = context.openAgent(dataDir, settings.startsAgent)
    const variables = new AccountVariables({
      accounts: settings.accounts,
      dataDir,
      secrets: context.ports.secrets,
    })
    const secrets = new ProgramSecrets(context, variables)
    const containers = new Containers({
      accounts: settings.accounts,
      users,
      agentMark: markOfDataDir(dataDir),
    })
    const toState = () =>
      toDesiredState({ desired, settings, images, users, secrets, variables, containers, dataDir })
    const pulled = new PulledImages({ desired, containers, log: context.log })
    const onStep: ReconcilerOptions['onStep'] = (change) => {
      pulled.prune(change)
      this.#certificates?.hostsMayHaveChanged(desired.revision)
    }
    const reconciler = new Reconciler({
      context,
      desired,
      agent,
      toState,
      drainMs: settings.drainMs,
      onStep,
    })
    const toFronts = () => toDesiredFronts({ desired, settings, dataDir })
    this.frontCertificates = new FrontCertificates({ dataDir, desired, reconciler })
    this.#certificates = openCertificates({
      context,
      settings: settings.acme,
      desired,
      frontCertificates: this.frontCertificates,
      toFronts,
    })
    const ports = new InstancePorts(desired, settings.ownPorts, dataDir)
    const volumes = new Volumes({ context, dataDir, backups: settings.volumeBackups })
    const made = { reconciler, volumes, containers, variables, newId: createUlids(now) }
    this.parts = { context, settings, desired, images, ports, users, dataDir, ...made }
    this.retained = [oldImages(this.parts)]
    this.#agent = agent
    this.#secrets = secrets
    this.dataDir = dataDir
    this.#servedHosts = () => findServedHosts(toFronts(), this.hostCertificates())
    this.#readings = new Readings({
      servedHosts: this.#servedHosts,
      desired,
      reconciler,
      agent,
      volumes,
      accounts: settings.accounts,
    })
    this.accounts = settings.accounts.map(toAccount)
    this.operations = openOperations(this.parts)
    this.images = createImageReads(images, settings)
    this.artifactAccount = createImageArtifacts(context, images, settings)
    this.metrics = {
      statistics: async (name, { instances }) =>
        toStatistics(
          name,
          await agent.samples(),
          instances.map(({ id }) => id),
        ),
    }
    this.builders = new Builders(agent, this.parts)
    this.programs = createLocalPrograms({ agent, desired, secrets })
    const { parts, builders } = this
    this.machine = {
      dataDir,
      accounts: settings.accounts,
      builders,
      users,
      variables,
      images,
      confineFile: (command, places) => confineFile(command, parts, places),
      containerRuntimeOf(account) {
        const problem = containers.problemOf(account)
        if (problem !== undefined) throw new PortError(400, problem)
        const { runtime, environment } = containers.toCaller(account)
        return { runtime, environment }
      },
      adoptFolder: (built, description) => adoptFolder(images, built, { description }),
    }
  }

  serverGroups(application?: string): ServerGroup[] {
    const { desired } = this.parts
    const groups = application === undefined ? desired.all('groups') : desired.groupsOf(application)
    return [...groups].map((group) => this.#readings.serverGroup(group))
  }

  serverGroup(account: string, region: string, name: string): ServerGroup | undefined {
    const group = this.parts.desired.groupAt(account, region, name)
    return group && this.#readings.serverGroup(group)
  }

  loadBalancers(): LoadBalancer[] {
    return this.#readings.loadBalancers()
  }

  securityGroups(): SecurityGroup[] {
    const { desired } = this.parts
    return [...desired.all('firewalls')].map((firewall) => toSecurityGroup(firewall, desired))
  }

  instance(account: string, region: string, id: string): Instance | undefined {
    const instance = this.parts.desired.get('instances', id)
    return instance?.account === account && instance.region === region
      ? this.#readings.instance(instance)
      : undefined
  }

  applicationOf(name: string, type: string): string | undefined {
    const owner =
      type === 'instance'
        ? this.parts.desired.get('instances', name.toLowerCase())?.program.startedFor
        : name
    return parseMoniker(owner ?? '').app ?? undefined
  }

  detachedInstances(): Instance[] {
    const detached = [...this.parts.desired.all('instances')].filter(
      ({ group }) => group === undefined,
    )
    return detached.map((instance) => this.#readings.instance(instance))
  }

  async console(
    account: string,
    region: string,
    id: string,
    wish: ConsoleWish | undefined,
  ): Promise<ConsoleView | undefined> {
    const { desired } = this.parts
    const owner = desired.get('instances', id) ?? desired.get('jobs', id)
    if (
      owner?.account !== account ||
      owner.region !== region ||
      ('isBuild' in owner && owner.isBuild)
    )
      return undefined
    if (wish === undefined)
      return {
        output: this.#secrets.mask((await this.#agent.console(id, consoleBytes)) ?? '', owner),
      }
    const part = await this.#agent.consolePart(id, wish, partBytes)
    if (part !== undefined) return { ...part, output: this.#secrets.mask(part.output, owner) }
    return { output: '', offset: 0, nextOffset: 0, endOffset: 0, lostBytes: 0 }
  }

  jobs(): Job[] {
    return this.#readings.jobs()
  }

  async jobFile({ id }: Job, name: string): Promise<JsonObject | undefined> {
    const job = this.parts.desired.get('jobs', id)
    const properties = await readProperties(workFolderOf(this.dataDir, id), name)
    if (properties === undefined || job === undefined) return properties
    return objectOf(parseJson(this.#secrets.mask(formatJson(properties), job)))
  }

  secretHolders(): SecretHolder[] {
    return secretHoldersOf(this.parts.desired)
  }

  /** Hosts with a certificate by ACME; none where no authority is configured. */
  hostCertificates(): readonly HostCertificate[] {
    return this.#certificates?.hosts() ?? []
  }

  certificateConditions(): readonly CertificateCondition[] {
    return this.hostCertificates().map(({ host, state, certificate: times }) => ({
      host,
      state,
      times,
    }))
  }

  async removeJob({ id }: Pick<Job, 'id'>): Promise<void> {
    const { desired, reconciler } = this.parts
    const job = desired.get('jobs', id)
    if (job !== undefined && isShownJob(job)) reconciler.change(() => desired.dismissJob(job))
  }

  networks(): JsonObject[] {
    return this.#places().flatMap(({ account, region }) =>
      toNetworkViews(account.name, region.name),
    )
  }

  subnets(): JsonObject[] {
    return this.#places().flatMap(({ account, region }) =>
      toSubnetViews(account.name, region.name, region.zones),
    )
  }

  instanceTypes(): JsonObject[] {
    const { settings } = this.parts
    return this.#places().flatMap(({ account, region }) =>
      toInstanceTypeViews(account, region.name, settings),
    )
  }

  #places() {
    return this.parts.settings.accounts.flatMap((account) =>
      account.regions.map((region) => ({ account, region })),
    )
  }

  certificates(): JsonObject[] {
    const { settings } = this.parts
    return settings.accounts.flatMap((account) =>
      certificatesOf(settings, account.name).map(({ name }) => ({
        name,
        serverCertificateName: name,
        accountName: account.name,
        type: 'local',
      })),
    )
  }

  scalingActivities({ account, region, name }: ServerGroup): JsonObject[] | undefined {
    const group = this.parts.desired.groupAt(account, region, name)
    return group?.activities.map((activity) => toActivityView(activity, group))
  }

  routes(app: FastifyInstance): void {
    imageRoutes(app, this.parts)
    domainRoutes(app, { ...this.parts, served: this.#servedHosts })
  }

  start(): void {
    this.parts.desired.transact(() => this.#secrets.reseal(this.parts.desired))
    if (this.parts.settings.front.instanceHost !== undefined) this.parts.desired.begin()
    this.#endAttached()
    this.parts.reconciler.start()
    this.#certificates?.start()
  }

  /** Jobs whose clients were connected to the process before this one. */
  #endAttached(): void {
    const { desired } = this.parts
    const left = [...desired.all('jobs')].filter(({ labels }) => labels[attachedLabel] === 'true')
    if (left.length === 0) return
    desired.transact(() => {
      for (const job of left) desired.dismissJob(job)
    })
  }

  async close(): Promise<void> {
    await this.#certificates?.close()
    await this.parts.reconciler.close()
  }
}

function toAccount({
  name,
  environment,
  accountType,
  permissions,
  regions,
  instanceTypes,
}: LocalAccountSettings): Account {
  return {
    name,
    provider: 'local',
    accountId: name,
    environment,
    accountType,
    permissions,
    details: {
      regions: regions.map((region) => ({
        name: region.name,
        availabilityZones: region.zones,
        preferredZones: region.zones,
      })),
      instanceTypes,
    },
  }
}

function toInstanceTypeViews(
  account: LocalAccountSettings,
  region: string,
  { instanceTypes }: LocalSettings,
): JsonObject[] {
  return instanceTypes
    .filter(({ name }) => account.instanceTypes.includes(name))
    .map(({ name, memoryBytes, processes, openFiles, diskBytes }) => ({
      account: account.name,
      region,
      name,
      cloudProvider: 'local',
      ...(memoryBytes !== undefined && { memoryInGiB: memoryBytes / 1024 ** 3 }),
      processes,
      openFiles,
      diskBytes,
      supportedArchitectures: [process.arch],
      currentGeneration: true,
    }))
}

/** A file of JSON, YAML or `name=value` lines in the working directory of a job; undefined when there is none. */
async function readProperties(folder: string, name: string): Promise<JsonObject | undefined> {
  const path = resolveWithin(folder, name)
  if (path === undefined) return undefined
  const text = await readAsOwner(folder, path, maxPropertyFileBytes)
  if (text === undefined) return undefined
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('#'))
  if (!/\.(?:ya?ml|json)$/.test(name) && lines.every((line) => line.includes('='))) {
    return Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf('=')).trim(),
        line.slice(line.indexOf('=') + 1).trim(),
      ]),
    )
  }
  try {
    if (!name.endsWith('.json') && text.length > maxYamlLength) return undefined
    const document = name.endsWith('.json') ? parseJson(text) : parseYaml(text)
    return isObject(document) ? document : undefined
  } catch {
    return undefined
  }
}

/** From the folder; undefined for a path that leads out of it, through a link as well, or to nothing. */
function resolveWithin(folder: string, name: string): string | undefined {
  try {
    const path = relative(realpathSync.native(folder), realpathSync.native(join(folder, name)))
    return path.split(sep)[0] === '..' ? undefined : path
  } catch {
    return undefined
  }
}
