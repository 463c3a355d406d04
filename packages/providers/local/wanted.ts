/** The agent's desired state, derived from the deployments. */

import { definedOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type {
  DesiredInstance,
  DesiredListener,
  DesiredLoadBalancer,
  DesiredMember,
  DesiredState,
  Probe,
  Program,
} from '@fairlead/base/net/agent-protocol.ts'
import { workFolderOf } from '@fairlead/base/outside/builder-process.ts'
import type { ImageStore } from '../images/image-store.ts'
import type { ContainerStart, Containers } from './containers.ts'
import {
  type Desired,
  type LocalBalancer,
  type LocalInstance,
  type LocalJob,
  placeKey,
} from './desired.ts'
import { allowedSources } from './firewalls.ts'
import { instanceBalancers } from './front/instance-site.ts'
import { toDesiredFronts } from './front/wanted-fronts.ts'
import type { AccountVariables } from './outgoing/account-variables.ts'
import { type GroupProgram, toLimits } from './program.ts'
import type { ProgramSecrets } from './program-secrets.ts'
import { certificatesOf, type LocalInstanceType, type LocalSettings } from './settings.ts'
import type { AccountUsers } from './users.ts'
import { toProgramVolumes, volumesOf, volumeVariables } from './volumes.ts'

interface WantedParts {
  readonly desired: Desired
  readonly settings: LocalSettings
  readonly images: ImageStore
  readonly users: AccountUsers
  readonly secrets: ProgramSecrets
  readonly variables: AccountVariables
  readonly containers: Containers
  readonly dataDir: string
}

export function toDesiredState(parts: WantedParts): DesiredState {
  const { desired } = parts
  const all = [...desired.all('instances')]
  const present = new Set(all.map(({ id }) => id))
  const running = all.filter(
    ({ leaving, waitsFor }) =>
      leaving?.stage !== 'stopping' && !waitsFor?.some((id) => present.has(id)),
  )
  const jobs = [...desired.all('jobs')].filter(
    ({ leavingRevision }) => leavingRevision === undefined,
  )
  const members = membersByBalancer(desired, running)
  return {
    revision: desired.revision,
    instances: [
      ...running.map((instance) => toInstance(instance, parts)),
      ...jobs.map((job) => toJobInstance(job, parts)),
    ],
    loadBalancers: [
      ...instanceBalancers(parts.settings),
      ...[...desired.all('balancers')].map((balancer) => toLoadBalancer(balancer, members, parts)),
    ],
    fronts: toDesiredFronts(parts),
  }
}

export function balancersOf(desired: Desired, instance: LocalInstance): string[] {
  return [...new Set([...(desired.groupOf(instance)?.loadBalancers ?? []), ...instance.registered])]
}

export function isServing(desired: Desired, instance: LocalInstance): boolean {
  return (
    !instance.isOut &&
    instance.leaving === undefined &&
    desired.groupOf(instance)?.isDisabled !== true
  )
}

function membersByBalancer(
  desired: Desired,
  running: readonly LocalInstance[],
): Map<string, DesiredMember[]> {
  const members = new Map<string, DesiredMember[]>()
  for (const instance of running) {
    const { id, account, region, host, port, deregistered } = instance
    const serves = isServing(desired, instance)
    const { name: group = '', trafficPercent: percent } = desired.groupOf(instance) ?? {}
    const share = percent === undefined ? {} : { share: { group, percent } }
    for (const name of balancersOf(desired, instance)) {
      const key = placeKey({ account, region, name })
      const member = {
        instanceId: id,
        host,
        port,
        inService: serves && !deregistered.includes(name),
        ...share,
      }
      members.getOrInsertComputed(key, () => []).push(member)
    }
  }
  return members
}

function toLoadBalancer(
  balancer: LocalBalancer,
  members: ReadonlyMap<string, DesiredMember[]>,
  { desired, settings }: WantedParts,
): DesiredLoadBalancer {
  const { kind, path, intervalMs, timeoutMs, healthyThreshold, unhealthyThreshold } =
    balancer.health
  const id = placeKey(balancer)
  return {
    id,
    listeners: balancer.listeners.map((listener): DesiredListener => {
      const certificate = certificatesOf(settings, balancer.account).find(
        ({ name }) => name === listener.certificate,
      )
      return {
        protocol: listener.protocol,
        host: listener.host,
        port: listener.port,
        certificate: certificate && {
          certificateFile: certificate.certificateFile,
          keyFile: certificate.keyFile,
        },
        allowedSources: allowedSources(desired, balancer, listener),
      }
    }),
    healthCheck: { kind, path, intervalMs, timeoutMs, healthyThreshold, unhealthyThreshold },
    members: members.get(id) ?? [],
  }
}

function toInstance(instance: LocalInstance, parts: WantedParts): DesiredInstance {
  const { id, generation, host, port, program, account } = instance
  return {
    id,
    generation,
    restart: 'always',
    program: {
      ...toStart(instance, toInstanceStart(instance, parts), parts),
      user: parts.users.of(account),
      limits: toLimits(program, typeOf(program.instanceType, parts)),
      volumes: toProgramVolumes(instance, parts.dataDir),
    },
    readiness: toProbe(program, host, port),
    stopGraceMs: program.stopMs,
    timeLimitMs: undefined,
  }
}

/** `$PORT`, `${PORT}` and `${PORT:-8080}`, unless the character before makes it plain text. */
const addressVariable = /(?<![\\$])\$(?:(PORT|HOST)\b|\{(PORT|HOST)(?::?-[^{}]*)?\})/g

const shells = /(?:^|\/)(?:ba|da|k|z|a)?sh$/

type WantedStart = Omit<ContainerStart, 'command' | 'stopMs' | 'readable'> &
  Pick<Program, 'content'>

function toInstanceStart(instance: LocalInstance, parts: WantedParts): WantedStart {
  const { program } = instance
  return {
    environment: toInstanceEnvironment(instance, parts),
    limits: toLimits(program, typeOf(program.instanceType, parts)),
    mounts: volumesOf(instance, parts.dataDir),
    content: parts.images.folderOf(program),
  }
}

function toStart(
  owner: LocalInstance | LocalJob,
  { content, ...start }: WantedStart,
  { containers, variables }: WantedParts,
): Pick<Program, 'command' | 'content' | 'environment' | 'container'> {
  const { container, stopMs } = owner.program
  const command = withAddress(owner.program.command, start.environment)
  const confined = 'confined' in owner ? owner.confined : []
  if (container === undefined)
    return { command: [...(confined ?? []), ...command], content, environment: start.environment }
  const readable = variables.folderOf(owner.account)
  return {
    ...containers.commandOf(owner, container, { ...start, command, stopMs, readable, content }),
    content: undefined,
  }
}

/** A program often takes its port as an argument. A shell has the variables itself. */
function withAddress(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  if (shells.test(command[0] ?? '')) return command
  const fill = (text: string, bare?: string, braced?: string) =>
    environment[bare ?? braced ?? ''] ?? text
  return command.map((argument) => argument.replaceAll(addressVariable, fill))
}

/** What an instance finds about itself in its environment, beside `PORT` and `HOST`. */
function toInstanceEnvironment(
  instance: LocalInstance,
  { secrets, dataDir }: WantedParts,
): Record<string, string> {
  const { program } = instance
  const { app, stack, detail, cluster } = parseMoniker(program.startedFor)
  return {
    ...secrets.environmentOf(instance),
    ...volumeVariables(instance, dataDir),
    PORT: String(program.container?.port ?? instance.port),
    HOST: program.container?.port === undefined ? instance.host : '0.0.0.0',
    FAIRLEAD_INSTANCE_ID: instance.id,
    FAIRLEAD_ACCOUNT: instance.account,
    FAIRLEAD_REGION: instance.region,
    FAIRLEAD_ZONE: instance.zone,
    FAIRLEAD_SERVER_GROUP: program.startedFor,
    FAIRLEAD_APPLICATION: app ?? '',
    FAIRLEAD_STACK: stack ?? '',
    FAIRLEAD_DETAIL: detail ?? '',
    FAIRLEAD_CLUSTER: cluster ?? program.startedFor,
  }
}

function toProbe({ ready }: GroupProgram, host: string, port: number): Probe | undefined {
  if (ready.running === true) return undefined
  const times = {
    host,
    port,
    intervalMs: ready.intervalSeconds * 1000,
    timeoutMs: ready.timeoutSeconds * 1000,
  }
  return ready.path === undefined
    ? { ...times, kind: 'tcp' }
    : {
        ...times,
        kind: 'http',
        path: ready.path,
        ...definedOf({ status: ready.status, hostHeader: ready.host }),
      }
}

function toJobInstance(job: LocalJob, parts: WantedParts): DesiredInstance {
  const { id, program, digest, account, instanceType, content, consoleBytes, confined } = job
  const type = typeOf(instanceType, parts)
  const limits = toLimits(
    program,
    confined === undefined ? type : { ...type, ...ofCommands, ...definedOf(type) },
  )
  const { startedFor } = job
  const owner =
    startedFor === undefined ? undefined : { ...job, program: { ...program, startedFor } }
  const environment = {
    // There is no other home in the sandbox.
    ...(confined !== undefined && { HOME: workFolderOf(parts.dataDir, id) }),
    ...parts.secrets.environmentOf(job),
    ...(owner && volumeVariables(owner, parts.dataDir)),
    FAIRLEAD_JOB_ID: id,
    FAIRLEAD_JOB: job.name,
    FAIRLEAD_ACCOUNT: account,
    FAIRLEAD_REGION: job.region,
    FAIRLEAD_APPLICATION: job.application,
  }
  const start = {
    environment,
    limits,
    mounts: owner === undefined ? [] : volumesOf(owner, parts.dataDir),
    content: digest === undefined ? content : parts.images.folderOf({ digest }),
  }
  return {
    id,
    generation: 0,
    restart: 'once',
    program: {
      ...toStart(job, start, parts),
      user: parts.users.of(account),
      limits: { ...limits, consoleBytes: consoleBytes ?? limits.consoleBytes },
      ...(owner && { volumes: toProgramVolumes(owner, parts.dataDir) }),
    },
    readiness: undefined,
    stopGraceMs: program.stopMs,
    timeLimitMs: job.timeLimitMs,
  }
}

/** Bounds of a command where its instance type has none. */
const ofCommands = { memoryBytes: 4 * 1024 ** 3, processes: 4096, diskBytes: 16 * 1024 ** 3 }
const without = {
  memoryBytes: undefined,
  processes: undefined,
  openFiles: undefined,
  diskBytes: undefined,
}

/** An instance type that has left the configuration limits nothing but the console. */
function typeOf(name: string, { settings }: WantedParts): LocalInstanceType {
  return (
    settings.instanceTypes.find((type) => type.name === name) ?? {
      ...without,
      name,
      consoleBytes: 10 * 1024 ** 2,
    }
  )
}
