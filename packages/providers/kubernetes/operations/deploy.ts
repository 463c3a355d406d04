/** deployManifest and runJob. */

import { fieldAt, isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { builtInKind, formatFullName, kindOfManifest, printKind } from '../kinds.ts'
import { claimedApplications } from '../manifests/annotations.ts'
import { describeManifestProblem, isGenerated, manifestsOf, nameOf } from '../manifests/input.ts'
import { parseSelectors } from '../manifests/selectors.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import { applyManifest, CreatedMeanwhileError, checkNewVersion, loadLive } from './apply.ts'
import { waitUntilEstablished } from './custom-resources.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type ManifestRun,
  namesByNamespace,
  toManifestResult,
} from './parts.ts'
import { type Preparation, prepare } from './prepare.ts'
import { type DeployFields, deployFieldsOf, type PreparedManifest } from './prepared.ts'
import { checkChanges, type ObjectChange } from './rights.ts'
import { aboutObject, describeNamespaceProblem, describeObjectPlace } from './targets.ts'

export const deployManifest = defineManifestOperation({
  check: describeDeployProblems,
  applications: deployedApplications,
  changes: deployedNames,
  run: async (running) => {
    const { results } = await deploy(running, deployFieldsOf(running.description))
    running.run.report(results)
  },
})

/** A job is replaced where it exists, so that it runs again. */
export const runJob = defineManifestOperation({
  check: (description, account) => {
    const manifests = manifestsOf(jobDescription(description))
    const [manifest] = manifests
    if (manifest === undefined || manifests.length !== 1)
      return ['manifest: exactly one job is needed.']
    const kind = printKind(kindOfManifest(manifest))
    return kind === 'job'
      ? describeDeployProblems(jobDescription(description), account)
      : [`manifest: ${kind} ${nameOf(manifest)} is no job; only manifests of kind Job can be run.`]
  },
  applications: (description) => deployedApplications(jobDescription(description)),
  changes: (description) => deployedNames(jobDescription(description)),
  run: async (running) => {
    const description = jobDescription(running.description)
    const { results, written } = await deploy(
      { ...running, description },
      { ...deployFieldsOf(description), recreates: true },
    )
    running.run.report({ ...results, deployedNamesByLocation: namesByNamespace(written) })
  },
})

function jobDescription(description: JsonObject): JsonObject {
  const { application, manifest, moniker, namespace } = description
  return {
    ...description,
    manifests: [withDefaultNamespace(manifest, namespace)],
    moniker: {
      ...objectOf(moniker),
      ...(textOf(application) !== undefined && { app: application }),
    },
    labelSelectors: undefined,
  }
}

function withDefaultNamespace(manifest: unknown, namespace: unknown): unknown {
  if (!isObject(manifest) || textOf(namespace) === undefined) return manifest
  return { ...manifest, metadata: { namespace, ...objectOf(manifest['metadata']) } }
}

export function describeDeployProblems(
  description: JsonObject,
  account: KubernetesAccount,
): (string | undefined)[] {
  const { manifests, moniker, namespaceOverride, labelSelectors } = deployFieldsOf(description)
  parseSelectors(labelSelectors)
  return [
    moniker.app === '' ? 'moniker.app: the application is missing (moniker.app.empty).' : undefined,
    ...manifests.map(describeManifestProblem),
    ...new Set(
      manifests.map((manifest) => {
        const kind = builtInKind(kindOfManifest(manifest))
        if (kind?.isNamespaced === false) return undefined
        return describeNamespaceProblem(
          account,
          namespaceOverride ?? textOf(fieldAt(manifest, 'metadata', 'namespace')) ?? '',
        )
      }),
    ),
  ]
}

export function deployedApplications(description: JsonObject): string[] {
  const { manifests, moniker } = deployFieldsOf(description)
  return [
    ...new Set([
      ...(moniker.app === '' ? [] : [moniker.app]),
      ...manifests.flatMap(claimedApplications),
    ]),
  ]
}

/** Manifests whose names are generated wait for none. */
function deployedNames(description: JsonObject): ChangedName[] {
  const { manifests, namespaceOverride } = deployFieldsOf(description)
  return manifests
    .filter((manifest) => !isGenerated(manifest))
    .map((manifest) => {
      const parsed = kindOfManifest(manifest)
      const namespace = namespaceOverride ?? textOf(fieldAt(manifest, 'metadata', 'namespace'))
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
  for (const [index, prepared] of preparation.manifests.entries()) {
    const { kind, namespace, artifact } = prepared
    running.run.note(
      `Deploying ${describeObjectPlace(running.account, prepared.name, namespace)} …`,
    )
    const object = await aboutObject(
      describeObjectPlace(running.account, prepared.name, namespace),
      async () => {
        const live = prepared.isPlanned ? await checkPlanned(running, prepared) : lives[index]
        const applied = await applyManifest(running, prepared, live)
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
  return { written, results: toManifestResult(written, preparation.boundArtifacts) }
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
