/** Programs of pods: their logs line by line, programs in their containers, and commands that run once as they run. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { list, objectList, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  fieldAt,
  fieldOf,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { allMaskFormsOf } from '@fairlead/model/secrets/mask-forms.ts'
import { maskLines } from '../../infrastructure/programs/mask-lines.ts'
import {
  type LogLine,
  type LogWish,
  maxLineBytes,
  type ProgramAccess,
  type RunOrder,
} from '../../infrastructure/programs/program-access.ts'
import { isApiError } from '../api/api-error.ts'
import type { PodLogQuery } from '../api/cluster-api.ts'
import { parseFullName } from '../kinds.ts'
import { type PodStatus, toPod } from '../objects/pod.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import type { LogBounds } from './logs.ts'
import { answered, findObject } from './object-lookup.ts'

const lookMs = 1000
const defaultContainer = 'kubectl.kubernetes.io/default-container'
/** Time until the pod of a job runs, its image pulled. */
const startMs = 120_000
const jobLabel = 'batch.kubernetes.io/job-name'
/** Keeps a job alive that waits for its client. */
const waitingCommand = ['sh', '-c', 'trap exit TERM HUP; while :; do sleep 3600 & wait $!; done']
const keptSeconds = { attached: 60, detached: 86_400 } as const
/** Ends an attached job whose Fairlead has died. */
const longestAttachedSeconds = 86_400

interface FoundPod {
  readonly account: KubernetesAccount
  readonly pod: { readonly namespace: string; readonly name: string }
  readonly container: string
  /** Names of the Secrets that its variables come from. */
  readonly secrets: readonly string[]
}

export function createPodPrograms(
  findAccount: (name: string) => KubernetesAccount | undefined,
  bounds: () => LogBounds,
): ProgramAccess {
  async function find(place: Parameters<ProgramAccess['lines']>[0]): Promise<FoundPod> {
    const account = findAccount(place.account)
    const name = place.humanName ?? place.id
    const job = parseFullName(name)
    const found =
      account && job?.kind.toLowerCase() === 'job'
        ? await runningPodOf(account, { namespace: place.region, name: job.name })
        : account && (await findObject(account, place.region, name))?.object
    if (account === undefined || found === undefined)
      throw new PortError(404, `There is no ${name} in ${place.region} any more.`)
    const { metadata } = found
    const [first] = toPod(found).spec.containers
    const container = metadata.annotations?.[defaultContainer] ?? first?.name ?? ''
    return {
      account,
      container,
      pod: { namespace: place.region, name: metadata.name },
      secrets: secretsOf(found, container),
    }
  }

  /** An account that may not read them masks nothing. */
  async function masksOf({ account, pod, secrets }: FoundPod): Promise<readonly string[]> {
    const found = await Promise.all(
      secrets.map((name) =>
        findObject(account, pod.namespace, `secret ${name}`).catch(() => undefined),
      ),
    )
    return allMaskFormsOf(found.flatMap((each) => secretValues(each?.object)))
  }

  async function read({ account, pod, container }: FoundPod, query: Partial<PodLogQuery>) {
    const limitBytes = bounds().bytes
    const text = await answered(account, () =>
      account.api.log(pod, { container, timestamps: true, limitBytes, ...query }),
    )
    return parseLog(text)
  }

  const bounded = <T>(account: string, asked: Promise<T>): Promise<T> =>
    findAccount(account)?.presence?.wait(asked) ?? asked

  const programs: ProgramAccess = {
    async lines(place, { sinceMs, tail, previous }: LogWish) {
      const found = await find(place)
      const lines = await read(found, {
        ...(previous === true && { previous }),
        tailLines: tail ?? bounds().lines,
        ...(sinceMs !== undefined && { sinceTime: toTime(sinceMs) }),
      }).catch((error: unknown) => {
        // A container that has not begun, or has no run before, has no log.
        if (isApiError(error, 400) || (error instanceof PortError && error.status === 400))
          return []
        throw error
      })
      return { lines: maskLines(lines, await masksOf(found)), next: lines.at(-1)?.next ?? '' }
    },
    async *follow(place, next, signal) {
      let masks: readonly string[] | undefined
      for (let position = next; !signal.aborted; ) {
        const found = await find(place).catch((error: unknown) => {
          if (error instanceof PortError && error.status === 404) return undefined
          throw error
        })
        if (found === undefined) return
        const sinceTime = position.split('#')[0] ?? ''
        const lines = await read(found, sinceTime === '' ? {} : { sinceTime }).catch(() => [])
        masks ??= await masksOf(found)
        for (const line of maskLines(lines, masks)) {
          if (!isAfter(line.position, position)) continue
          position = line.next
          yield line
        }
        await sleep(lookMs, undefined, { signal }).catch(() => {})
      }
    },
    async exec(place, request) {
      const { account, pod, container } = await find(place)
      return answered(account, () => account.api.exec(pod, container, request))
    },
    masksOf: async (place) => masksOf(await find(place)),
    async toRun({ account: accountName, region, name }, order) {
      const account = findAccount(accountName)
      const found = account && (await findObject(account, region, name))
      if (account === undefined || found === undefined)
        throw new PortError(404, `There is no ${name} in ${region} any more.`)
      const shared = await sharedClaims(account, region, found.object)
      return {
        name: 'runJob',
        description: {
          cloudProvider: 'kubernetes',
          account: accountName,
          credentials: accountName,
          // Services must not take its pod for one of theirs.
          skipSpecTemplateLabels: true,
          manifest: toJobManifest(found.object, { namespace: region, shared, order }),
        },
      }
    },
  }
  return {
    ...programs,
    lines: (place, wish) => bounded(place.account, programs.lines(place, wish)),
    exec: (place, request) => bounded(place.account, programs.exec(place, request)),
    masksOf: (place) => bounded(place.account, programs.masksOf(place)),
    toRun: (group, order) => bounded(group.account, programs.toRun(group, order)),
  }
}

/** @throws {PortError} 502 where it has ended, 504 where it does not begin, with why */
async function runningPodOf(
  account: KubernetesAccount,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<KubeObject> {
  const resource = await answered(account, () => account.api.find({ kind: 'pod', group: '' }))
  for (let waitedMs = 0; resource !== undefined; waitedMs += lookMs) {
    const labelSelector = `${jobLabel}=${name}`
    const [pod] = await answered(account, () =>
      account.api.list(resource, { namespace, labelSelector }),
    )
    const status = pod && toPod(pod).status
    if (pod !== undefined && status?.containerStatuses.some(({ state }) => state.running))
      return pod
    const why = status === undefined ? 'its pod is not created' : describeWait(status)
    if (status?.phase === 'Failed' || status?.phase === 'Succeeded')
      throw new PortError(502, `The job ${name} ended before the command ran in it: ${why}.`)
    if (waitedMs >= startMs)
      throw new PortError(504, `After ${startMs / 1000} s, the job ${name} has not begun: ${why}.`)
    await sleep(lookMs)
  }
  throw new PortError(502, `The API server of the account ${account.settings.name} has no pods.`)
}

function describeWait({
  containerStatuses,
  conditions,
  phase,
  reason,
  message,
}: PodStatus): string {
  const [{ state } = { state: undefined }] = containerStatuses
  const cause = state?.waiting ?? state?.terminated
  const unscheduled = conditions.find(({ status }) => status === 'False')
  return (
    [cause?.reason ?? reason, cause?.message ?? message ?? unscheduled?.message]
      .filter(Boolean)
      .join(': ') || `its pod is ${phase}`
  )
}

const toTemplate = shape({
  annotations: objectOf,
  spec: objectOf,
  volumes: list(shape({ name: or(textOf, ''), claim: [claimOf, 'persistentVolumeClaim'] })),
})
const readTemplate = shape({ spec: shape({ template: objectOf }) })

function claimOf(value: unknown): string | undefined {
  return textOf(fieldAt(value, 'claimName'))
}

function templateOf(workload: JsonObject): ShapeOf<typeof toTemplate> {
  const { template } = readTemplate(workload).spec
  const spec = objectOf(template['spec'])
  const { annotations } = objectOf(template['metadata'])
  return toTemplate({ annotations, spec, volumes: spec['volumes'] })
}

/** Names of claims that pods on several nodes may use at a time. */
async function sharedClaims(
  account: KubernetesAccount,
  namespace: string,
  workload: JsonObject,
): Promise<ReadonlySet<string>> {
  const claims = templateOf(workload).volumes.flatMap(({ claim }) => claim ?? [])
  const found = await Promise.all(
    claims.map(async (claim) => {
      const object = await findObject(account, namespace, `persistentVolumeClaim ${claim}`)
      const modes = textsOf(fieldAt(object?.object, 'spec', 'accessModes'))
      return modes.includes('ReadWriteMany') ? [claim] : []
    }),
  )
  return new Set(found.flat())
}

interface JobParts {
  readonly namespace: string
  readonly shared: ReadonlySet<string>
  readonly order: RunOrder
}

/** The main container alone, with no labels by which a service or a controller would take its pod. */
function toJobManifest(workload: KubeObject, { namespace, shared, order }: JobParts): JsonObject {
  const { annotations, spec, volumes } = templateOf(workload)
  const containers = objectsOf(spec['containers'])
  const wanted = annotations[defaultContainer]
  const main = containers.find(({ name }) => name === wanted) ?? containers[0] ?? {}
  const dropped = new Set(
    volumes
      .filter(({ claim }) => claim !== undefined && !shared.has(claim))
      .map(({ name }) => name),
  )
  const keeps = (each: JsonObject) => !dropped.has(String(each['name']))
  const { command, timeoutSeconds, isAttached } = order
  const {
    ports: _ports,
    args: _args,
    startupProbe: _startup,
    readinessProbe: _readiness,
    livenessProbe: _liveness,
    lifecycle: _lifecycle,
    ...container
  } = main
  const { 'pod-template-hash': _hash, ...labels } = workload.metadata.labels ?? {}
  const name = `${workload.metadata.name.slice(0, 48)}-run-${randomBytes(3).toString('hex')}`
  const deadline = timeoutSeconds ?? (isAttached ? longestAttachedSeconds : undefined)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    // What removes all that its application has finds it by its labels, too.
    metadata: { name, namespace, labels },
    spec: {
      backoffLimit: 0,
      ttlSecondsAfterFinished: keptSeconds[isAttached ? 'attached' : 'detached'],
      ...definedOf({ activeDeadlineSeconds: deadline }),
      template: {
        spec: {
          ...spec,
          restartPolicy: 'Never',
          volumes: objectsOf(spec['volumes']).filter(keeps),
          containers: [
            {
              ...container,
              command: isAttached ? waitingCommand : [...command],
              volumeMounts: objectsOf(fieldOf(main, 'volumeMounts')).filter(keeps),
            },
          ],
        },
      },
    },
  }
}

function secretsOf(pod: KubeObject, container: string): string[] {
  const found = toPod(pod).spec.containersAsGiven.find(({ name }) => name === container)
  const { envFrom, env } = readVariables(found)
  const names = [
    ...envFrom.map(({ secretRef }) => secretRef.name),
    ...env.map(({ valueFrom }) => valueFrom.secretKeyRef.name),
  ]
  return [...new Set(names.filter((name) => name !== undefined))]
}

const toNamed = shape({ name: textOf })
const readVariables = shape({
  envFrom: objectList(shape({ secretRef: toNamed })),
  env: objectList(shape({ valueFrom: shape({ secretKeyRef: toNamed }) })),
})

function secretValues(secret: KubeObject | undefined): string[] {
  return Object.values(objectOf(fieldOf(secret, 'data'))).map((value) =>
    Buffer.from(String(value), 'base64').toString(),
  )
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** Each line begins with its time; several may have the same. */
function parseLog(text: string): LogLine[] {
  let last = ''
  let count = 0
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.flatMap((line) => {
    const [, time, content] = /^(\S+) ?(.*)$/s.exec(line) ?? []
    const atMs = Date.parse(time ?? '')
    if (time === undefined || content === undefined || Number.isNaN(atMs)) return []
    count = time === last ? count + 1 : 0
    last = time
    const position = `${time}#${count}`
    const isCut = Buffer.byteLength(content) > maxLineBytes
    const shown = isCut ? Buffer.from(content).subarray(0, maxLineBytes).toString() : content
    return [{ atMs, position, next: position, text: shown, ...(isCut && { isCut }) }]
  })
}

/** Times have as many digits as they need, so that texts are compared after the fraction is filled. */
function isAfter(one: string, other: string): boolean {
  if (other === '') return true
  const [time, count] = keyOf(one)
  const [otherTime, otherCount] = keyOf(other)
  return time === otherTime ? count > otherCount : time > otherTime
}

function keyOf(position: string): [time: string, count: number] {
  const [time = '', count = '0'] = position.split('#')
  const [whole = '', fraction = ''] = time.replace(/Z$/, '').split('.')
  return [`${whole}.${fraction.padEnd(9, '0')}`, Number(count)]
}
