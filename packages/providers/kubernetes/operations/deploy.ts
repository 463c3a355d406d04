/** deployManifest and runJob. */

import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { builtInKind, formatFullName, kindOfManifest, printKind } from '../kinds.ts'
import { claimedApplications } from '../manifests/annotations.ts'
import { withField } from '../manifests/edit.ts'
import { describeManifestProblem, isGenerated, nameOf, namespaceOf } from '../manifests/input.ts'
import { parseSelectors } from '../manifests/selectors.ts'
import { isStable } from '../manifests/status.ts'
import { compareWaves, isHook, isHookOfOnce, type Wave } from '../manifests/waves.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import { loadHealth } from '../reads/health.ts'
import {
  applyManifest,
  CreatedMeanwhileError,
  checkNewVersion,
  loadLive,
  preparedPlace,
} from './apply.ts'
import { waitUntilEstablished } from './custom-resources.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type ManifestRun,
  namesByNamespace,
  toManifestResult,
} from './parts.ts'
import { type Preparation, prepare, respecting } from './prepare.ts'
import { type DeployFields, type PreparedManifest, toDeployment } from './prepared.ts'
import { removeManifest } from './remove.ts'
import { pollUntil } from './retry.ts'
import { checkChanges, type ObjectChange } from './rights.ts'
import { aboutObject, describeNamespaceProblem, describeObjectPlace } from './targets.ts'

export const deployManifest = defineManifestOperation({
  reads: toDeployment,
  check: describeDeployProblems,
  applications: deployedApplications,
  changes: deployedNames,
  run: async (running, fields) => running.run.report((await deploy(running, fields)).results),
})

/** A job is replaced where it exists, so that it runs again. */
export const runJob = defineManifestOperation({
  reads: toJob,
  check: (fields, account) => {
    const [manifest, ...more] = fields.manifests
    if (manifest === undefined || more.length > 0) return ['manifest: exactly one job is needed.']
    const kind = printKind(kindOfManifest(manifest))
    return kind === 'job'
      ? describeDeployProblems(fields, account)
      : [`manifest: ${kind} ${nameOf(manifest)} is no job; only manifests of kind Job can be run.`]
  },
  applications: deployedApplications,
  changes: deployedNames,
  run: async (running, fields) => {
    const { results, written } = await deploy(running, fields)
    running.run.report({ ...results, deployedNamesByLocation: namesByNamespace(written) })
  },
})

const toJobFields = shape({ application: textOf, namespace: textOf })

function toJob(description: JsonObject): DeployFields {
  const { application, namespace } = toJobFields(description)
  const { manifest } = description
  const fields = toDeployment({ ...description, manifests: [manifest] })
  return {
    ...fields,
    manifests: fields.manifests.map((each) => withDefaultNamespace(each, namespace)),
    moniker: { ...fields.moniker, app: application ?? fields.moniker.app },
    labelSelectors: undefined,
    recreates: true,
  }
}

function withDefaultNamespace(manifest: JsonObject, namespace: string | undefined): JsonObject {
  return namespace === undefined || namespaceOf(manifest) !== undefined
    ? manifest
    : withField(manifest, ['metadata', 'namespace'], namespace)
}

export function describeDeployProblems(
  { manifests, moniker, namespaceOverride, labelSelectors }: DeployFields,
  account: KubernetesAccount,
): (string | undefined)[] {
  parseSelectors(labelSelectors)
  return [
    moniker.app === '' ? 'moniker.app: the application is missing (moniker.app.empty).' : undefined,
    ...manifests.map(describeManifestProblem),
    ...new Set(
      manifests.map((manifest) => {
        const kind = builtInKind(kindOfManifest(manifest))
        if (kind?.isNamespaced === false) return undefined
        return describeNamespaceProblem(account, namespaceOverride ?? namespaceOf(manifest) ?? '')
      }),
    ),
  ]
}

export function deployedApplications({ manifests, moniker }: DeployFields): string[] {
  return [
    ...new Set([
      ...(moniker.app === '' ? [] : [moniker.app]),
      ...manifests.flatMap(claimedApplications),
    ]),
  ]
}

/** Manifests whose names are generated wait for none. */
function deployedNames({ manifests, namespaceOverride }: DeployFields): ChangedName[] {
  return manifests
    .filter((manifest) => !isGenerated(manifest))
    .map((manifest) => {
      const parsed = kindOfManifest(manifest)
      const namespace = namespaceOverride ?? namespaceOf(manifest)
      const isNamespaced = builtInKind(parsed)?.isNamespaced !== false
      return {
        namespace: isNamespaced ? namespace : '',
        name: `${printKind(parsed)} ${nameOf(manifest)}`,
      }
    })
}

interface DeployedObject {
  /** Full name, as the API server has made it. */
  readonly name: string
  readonly namespace: string
  readonly object: KubeObject
  readonly artifact: JsonObject
}

interface Deployed {
  readonly written: readonly DeployedObject[]
  readonly results: JsonObject
}

/** How often others may be faster with a version. */
const maxAttempts = 20

/** The first failure ends it; what was applied stays. */
export async function deploy(running: ManifestRun, fields: DeployFields): Promise<Deployed> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await deployOnce(running, fields)
    } catch (error) {
      if (
        !(error instanceof CreatedMeanwhileError) ||
        attempt === maxAttempts ||
        running.run.signal.aborted
      )
        throw error
    }
  }
}

async function deployOnce(running: ManifestRun, fields: DeployFields): Promise<Deployed> {
  const preparation = await prepare(running, fields)
  const lives = await checkPreparation(running, preparation)
  const written: DeployedObject[] = []
  const gone = new Set<string>()
  const end = (count: number, wave: Wave) =>
    endWave(running, {
      manifests: preparation.manifests
        .slice(0, count)
        .map((each, at) => named(each, written[at]?.object.metadata.name)),
      wave,
      gone,
    })
  for (const [index, prepared] of preparation.manifests.entries()) {
    const { kind, namespace, artifact, wave } = prepared
    const before = preparation.manifests[index - 1]
    if (before !== undefined && compareWaves(before.wave, wave) !== 0) await end(index, before.wave)
    running.run.note(
      `Deploying ${describeObjectPlace(running.account, prepared.name, namespace)} …`,
    )
    const object = await aboutObject(
      describeObjectPlace(running.account, prepared.name, namespace),
      async () => {
        const live = prepared.isPlanned ? await checkPlanned(running, prepared) : lives[index]
        const kept = respecting(preparation, prepared, live)
        const applied = await applyManifest(running, kept, live)
        if (kind.name === 'customResourceDefinition') await waitUntilEstablished(running, prepared)
        return applied
      },
    )
    const { name } = object.metadata
    const reference = prepared.objectName === undefined ? { reference: name } : {}
    written.push({
      name: formatFullName(kind, name),
      namespace,
      object,
      artifact: { ...artifact, ...reference },
    })
  }
  const last = preparation.manifests.at(-1)
  if (last !== undefined && isHook(last.manifest))
    await end(preparation.manifests.length, last.wave)
  const left = written.filter(({ name, namespace }) => !gone.has(`${namespace} ${name}`))
  const warnings = preparation.manifests.flatMap(({ notes }) => notes)
  return {
    written: left,
    results: {
      ...toManifestResult(left, preparation.boundArtifacts),
      ...(warnings.length > 0 && { warnings }),
    },
  }
}

/** Adds the name that the API server has generated. */
function named(prepared: PreparedManifest, name = prepared.objectName): PreparedManifest {
  return prepared.objectName !== undefined || name === undefined
    ? prepared
    : { ...prepared, name: formatFullName(prepared.kind, name), objectName: name }
}

/** How long the objects of a wave may take to become ready. */
const waveMs = 30 * 60_000

/** Waits until the objects of a wave are ready; hooks that have done their work may go. */
async function endWave(
  running: ManifestRun,
  {
    manifests,
    wave,
    gone,
  }: {
    readonly manifests: readonly PreparedManifest[]
    readonly wave: Wave
    /** Receives namespaces and names of hooks that have gone. */
    readonly gone: Set<string>
  },
): Promise<void> {
  for (const prepared of manifests.filter((each) => compareWaves(each.wave, wave) === 0)) {
    const subject = describeObjectPlace(running.account, prepared.name, prepared.namespace)
    let state = ''
    const live = await pollUntil(running, { limitMs: waveMs }, async () => {
      const found = await loadLive(running.account, prepared)
      // A job may be collected as soon as it has ended.
      if (found === undefined && prepared.kind.name === 'job') return {}
      if (found === undefined)
        throw new Error(`${subject} was deleted meanwhile, so that the next wave is not deployed.`)
      const health = await loadHealth(running, found, prepared.resource)
      if (health.state === 'failed')
        throw new Error(
          `${subject} failed, so that the next wave is not deployed: ${health.sentence}`,
        )
      if (isStable(health)) return { found }
      if (state === '') running.run.note(`Waiting for ${subject} before the next wave …`)
      state = health.sentence
      return undefined
    })
    if (live === undefined)
      throw new Error(
        `${subject} is not ready after ${waveMs / 60_000} minutes: ${state} The next wave is not deployed.`,
      )
    if (live.found !== undefined && isHookOfOnce(prepared.manifest)) {
      const { name } = prepared
      const removable = { name, place: preparedPlace(prepared), live: live.found }
      await removeManifest(running, removable, { propagation: 'Background', limitMs: waveMs })
      gone.add(`${prepared.namespace} ${name}`)
    }
  }
}

/** Reads what is there, and makes sure that all of it may be changed. */
async function checkPreparation(
  running: ManifestRun,
  { manifests, services }: Preparation,
): Promise<readonly (KubeObject | undefined)[]> {
  const lives = await callInTurns(manifests, (prepared) =>
    prepared.isPlanned ? Promise.resolve(undefined) : findLive(running, prepared),
  )
  for (const [index, prepared] of manifests.entries()) checkNewVersion(prepared, lives[index])
  await checkChanges(running, [
    ...manifests.flatMap((prepared, index) => changesOf(prepared, lives[index])),
    ...services,
  ])
  return lives
}

/** Objects of a kind that was unknown when the deployment was prepared may exist all the same. */
async function checkPlanned(
  running: ManifestRun,
  prepared: PreparedManifest,
): Promise<KubeObject | undefined> {
  const live = await findLive(running, prepared)
  await checkChanges(running, changesOf(prepared, live))
  return live
}

/** The object as it is, and as it will be: a manifest may name a controller of another application. */
function changesOf(
  { name, resource, manifest }: PreparedManifest,
  live: KubeObject | undefined,
): ObjectChange[] {
  const change = { name, isNamespaced: resource.isNamespaced, live }
  return [change, { ...change, live: manifest as KubeObject }]
}

function findLive(
  { account }: ManifestRun,
  prepared: PreparedManifest,
): Promise<KubeObject | undefined> {
  return aboutObject(describeObjectPlace(account, prepared.name, prepared.namespace), () =>
    loadLive(account, prepared),
  )
}
