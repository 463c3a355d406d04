/** patchManifest. */
import { isDeepStrictEqual } from 'node:util'
import {
  fieldAt,
  fieldOf,
  isObject,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import { apiVersionOf, type PatchOptions } from '../api/cluster-api.ts'
import {
  annotationOf,
  changeCauseAnnotation,
  claimedApplications,
  fieldManager,
  ownerFieldsIn,
  writtenByAnnotation,
} from '../manifests/annotations.ts'
import { bindArtifacts, firstOfEachArtifact } from '../manifests/artifacts.ts'
import { withEntries, withField } from '../manifests/edit.ts'
import type { KubeObject } from '../objects.ts'
import { defineManifestOperation, type ManifestRun, toManifestResult } from './parts.ts'
import { checkBound } from './prepare.ts'
import { retrying } from './retry.ts'
import { checkChanges, requireChangeable, toChange } from './rights.ts'
import {
  aboutObject,
  describeTarget,
  describeTargetProblems,
  type LiveTarget,
  namedManifest,
  type Target,
} from './targets.ts'

type MergeStrategy = 'strategic' | 'merge' | 'json'

export const patchManifest = defineManifestOperation({
  check: (description, account) => [
    ...describeTargetProblems(account, namedManifest(description)),
    strategyOf(description) === undefined &&
      'options.mergeStrategy: write strategic, merge or json (options.mergeStrategy.empty).',
    describeBodyProblem(description),
  ],
  applications: ({ patchBody }) =>
    listOf(Array.isArray(patchBody) ? patchBody : [patchBody]).flatMap(applicationsIn),
  changes: (description) => [namedManifest(description)],
  run: patch,
})

function strategyOf({ options }: JsonObject): MergeStrategy | undefined {
  const strategy = textOf(fieldOf(options, 'mergeStrategy'))?.toLowerCase()
  return strategy === 'strategic' || strategy === 'merge' || strategy === 'json'
    ? strategy
    : undefined
}

function describeBodyProblem(description: JsonObject): string | undefined {
  const { patchBody } = description
  const operations = objectsOf(patchBody)
  if (strategyOf(description) !== 'json') {
    const isOne =
      isObject(patchBody) ||
      (Array.isArray(patchBody) && patchBody.length === 1 && operations.length === 1)
    return isOne ? undefined : 'patchBody: exactly one object is needed (patchBody.empty).'
  }
  if (operations.length === 0 && !isObject(patchBody)) {
    return 'patchBody: a list of operations such as {op: add, path: /metadata/labels/tier, value: web} is needed (patchBody.empty).'
  }
  return undefined
}

/** What an object that is merged, or an operation of a JSON patch, claims by itself: refused before a task begins. */
function applicationsIn(part: unknown): string[] {
  if (!isObject(part)) return []
  if (textOf(part['op']) === undefined) return claimedApplications(part)
  const path = segmentsOf(part['path'])
  return claimedApplications(
    path.length === 0 ? objectOf(part['value']) : withField({}, path, part['value']),
  )
}

function segmentsOf(pointer: unknown): string[] {
  const [, ...segments] = (textOf(pointer) ?? '').split('/')
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

async function patch(running: ManifestRun): Promise<void> {
  const { account, description, run } = running
  const target = await requireChangeable(running, namedManifest(description))
  const { live, subject } = target
  const type = strategyOf(description) ?? 'strategic'
  const { body, bound } =
    type === 'json' ? { body: operationsOf(running, target), bound: [] } : mergeOf(running, target)
  run.note(`Patching ${subject} …`)
  // The operations of a JSON patch may not be done twice.
  const isDone = annotationOf(live, writtenByAnnotation) === run.id
  const patched = isDone
    ? live
    : await send(running, target, await checkedPatch(running, target, { body, type }))
  account.lists.observe(patched)
  run.report(
    toManifestResult(
      [{ name: target.name, namespace: target.place.namespace, object: patched }],
      bound,
    ),
  )
}

interface Patch {
  readonly body: unknown
  readonly type: PatchOptions['type']
}

/**
 * The API server alone knows what a patch leaves of annotations and labels: its dry run says whose the object will be. A patch that
 * changes that holds for the object as it is now, so that two of them together claim nothing that neither does.
 *
 * @throws {Error} where the user has no WRITE on an application that the object would claim then
 */
async function checkedPatch(
  running: ManifestRun,
  target: LiveTarget,
  patch: Patch,
): Promise<Patch> {
  const { parts, account } = running
  const isChecked = parts.context.settings.authorization === true && parts.settings.checksOwners
  if (!isChecked || !mayClaim(running.description['patchBody'])) return patch
  const { live, name } = target
  const options = { type: patch.type, fieldManager, dryRun: true }
  const next = await aboutObject(describeTarget(account, target), () =>
    account.api.patch(target.place, patch.body, options),
  )
  if (isDeepStrictEqual(ownerFieldsIn(next), ownerFieldsIn(live))) return patch
  await checkChanges(running, [toChange({ ...target, live: next })])
  const access = await requireAccess(parts.context, running.run.user)
  const claimed = claimedApplications(next).find((each) => !access.mayOnApplication(each, 'WRITE'))
  if (claimed !== undefined) {
    throw new Error(
      `Access denied to application ${claimed}, which ${name} would claim: ${access.user} has no WRITE on it.`,
    )
  }
  const { resourceVersion } = live.metadata
  const body =
    patch.type === 'json'
      ? [
          { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
          ...objectsOf(patch.body),
        ]
      : withField(objectOf(patch.body), ['metadata', 'resourceVersion'], resourceVersion)
  return { ...patch, body }
}

/** What names no metadata moves none, unless it copies what is there. */
function mayClaim(patchBody: unknown): boolean {
  const isMoved = objectsOf(patchBody).some(({ op }) => op === 'copy' || op === 'move')
  return isMoved || JSON.stringify(patchBody).includes('metadata')
}

function send(running: ManifestRun, target: Target, { body, type }: Patch): Promise<KubeObject> {
  const call = () => running.account.api.patch(target.place, body, { type, fieldManager })
  return aboutObject(describeTarget(running.account, target), () =>
    type === 'json' ? call() : retrying(running, call),
  )
}

function isRecorded({ options }: JsonObject): boolean {
  return isTrue(fieldOf(options, 'record'))
}

function changeCause({ run }: ManifestRun, { name, place }: Target): string {
  return `patchManifest ${name} --namespace=${place.namespace} by ${run.user}`
}

/** With artifacts bound. @throws {Error} where a required one occurs nowhere in it */
function mergeOf(
  running: ManifestRun,
  target: Target,
): { readonly body: JsonObject; readonly bound: readonly JsonObject[] } {
  const { description, account, parts } = running
  const given = objectOf(
    Array.isArray(description['patchBody'])
      ? description['patchBody'][0]
      : description['patchBody'],
  )
  const required = objectsOf(description['requiredArtifacts'])
  const { resource, namespace } = target.place
  const kind = { kind: resource.kind, apiVersion: apiVersionOf(resource) }
  const { manifest, bound } = bindArtifacts(
    { ...given, ...kind },
    {
      account: account.settings.name,
      namespace,
      artifacts: firstOfEachArtifact([...required, ...objectsOf(description['allArtifacts'])]),
      matchesImages: parts.settings.imageBinding,
    },
  )
  checkBound(required, bound)
  const { kind: _kind, apiVersion: _version, ...fields } = manifest
  const body = {
    ...fields,
    ...('kind' in given && { kind: given['kind'] }),
    ...('apiVersion' in given && { apiVersion: given['apiVersion'] }),
  }
  const entries = { [changeCauseAnnotation]: changeCause(running, target) }
  return {
    body: isRecorded(description)
      ? withEntries(body, ['metadata', 'annotations'], { entries, keepsExisting: false })
      : body,
    bound,
  }
}

function operationsOf(running: ManifestRun, target: LiveTarget): JsonObject[] {
  const { patchBody } = running.description
  const operations = objectsOf(Array.isArray(patchBody) ? patchBody : [patchBody])
  // A patch of the annotations themselves may leave no place for others.
  const touchesAll = operations.some(({ path, from }) =>
    [path, from].some((each) => each !== undefined && isAround(segmentsOf(each))),
  )
  if (touchesAll) return operations
  const notes = {
    [writtenByAnnotation]: running.run.id,
    ...(isRecorded(running.description) && {
      [changeCauseAnnotation]: changeCause(running, target),
    }),
  }
  const hasAnnotations = isObject(fieldAt(target.live, 'metadata', 'annotations'))
  return [
    ...operations,
    ...(hasAnnotations ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} }]),
    ...Object.entries(notes).map(([key, value]) => ({
      op: 'add',
      path: `/metadata/annotations/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      value,
    })),
  ]
}

function isAround([first, second, ...more]: readonly string[]): boolean {
  if (first === undefined || (first === 'metadata' && second === undefined)) return true
  return first === 'metadata' && second === 'annotations' && more.length === 0
}
