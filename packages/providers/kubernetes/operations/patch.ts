/** patchManifest. */
import { isDeepStrictEqual } from 'node:util'
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import { apiVersionOf } from '../api/cluster-api.ts'
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
import { explainPatchRefusal } from './refusals.ts'
import { retrying } from './retry.ts'
import { checkChanges, requireChangeable, toChange } from './rights.ts'
import {
  aboutObject,
  describeTarget,
  describeTargetProblems,
  type LiveTarget,
  manifestFields,
  type TargetObject,
} from './targets.ts'

const strategies = ['strategic', 'merge', 'json'] as const

const toOperation = shape({
  op: textOf,
  path: segmentsOf,
  from: segmentsOf,
  value: asGiven,
})

/** Merged objects, or operations of a JSON patch; fields that have no meaning here are sent, too. */
interface PatchBody {
  /** Members that are objects; one that is alone needs no list. */
  readonly parts: readonly JsonObject[]
  readonly length: number
}

function toPatchBody(given: unknown): PatchBody {
  const members = Array.isArray(given) ? given : [given]
  return { parts: objectsOf(members), length: members.length }
}

const toPatch = shape({
  ...manifestFields,
  patchBody: toPatchBody,
  options: shape({
    mergeStrategy: (value: unknown) =>
      strategies.find((strategy) => strategy === textOf(value)?.toLowerCase()),
    record: isTrue,
  }),
  requiredArtifacts: objectsOf,
  allArtifacts: objectsOf,
})
type PatchDescription = ReturnType<typeof toPatch>

export const patchManifest = defineManifestOperation({
  reads: toPatch,
  check: (description, account) => [
    ...describeTargetProblems(account, description),
    description.options.mergeStrategy === undefined &&
      'options.mergeStrategy: write strategic, merge or json (options.mergeStrategy.empty).',
    describeBodyProblem(description),
  ],
  applications: ({ patchBody }) => patchBody.parts.flatMap(applicationsIn),
  changes: (description) => [description],
  run: patch,
})

function describeBodyProblem({ options, patchBody }: PatchDescription): string | undefined {
  const { parts, length } = patchBody
  if (options.mergeStrategy !== 'json') {
    const isOne = parts.length === 1 && length === 1
    return isOne ? undefined : 'patchBody: exactly one object is needed (patchBody.empty).'
  }
  if (parts.length === 0) {
    return 'patchBody: a list of operations such as {op: add, path: /metadata/labels/tier, value: web} is needed (patchBody.empty).'
  }
  return undefined
}

/** What an object that is merged, or an operation of a JSON patch, claims by itself: refused before a task begins. */
function applicationsIn(part: JsonObject): string[] {
  const { op, path = [], value } = toOperation(part)
  if (op === undefined) return claimedApplications(part)
  return claimedApplications(path.length === 0 ? objectOf(value) : withField({}, path, value))
}

function segmentsOf(pointer: unknown): string[] | undefined {
  if (pointer === undefined) return undefined
  const [, ...segments] = (textOf(pointer) ?? '').split('/')
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

async function patch(running: ManifestRun, description: PatchDescription): Promise<void> {
  const { account, run } = running
  const target = await requireChangeable(running, description)
  const { live, subject } = target
  const { mergeStrategy: type = 'strategic' } = description.options
  const { bound, ...made } =
    type === 'json'
      ? { type, body: operationsOf(running, target, description), bound: [] }
      : { type, ...mergeOf(running, target, description) }
  run.note(`Patching ${subject} …`)
  // The operations of a JSON patch may not be done twice.
  const isDone = annotationOf(live, writtenByAnnotation) === run.id
  const patched = isDone
    ? live
    : await send(running, target, await checkedPatch(running, { target, description }, made))
  account.lists.observe(patched)
  run.report(
    toManifestResult(
      [{ name: target.name, namespace: target.place.namespace, object: patched }],
      bound,
    ),
  )
}

type Patch =
  | { readonly type: 'json'; readonly body: readonly JsonObject[] }
  | { readonly type: 'strategic' | 'merge'; readonly body: JsonObject }

/**
 * The API server alone knows what a patch leaves of annotations and labels: its dry run says whose the object will be. A patch that
 * changes that holds for the object as it is now, so that two of them together claim nothing that neither does.
 *
 * @throws {Error} where the user has no WRITE on an application that the object would claim then
 */
async function checkedPatch(
  running: ManifestRun,
  { target, description }: { readonly target: LiveTarget; readonly description: PatchDescription },
  patch: Patch,
): Promise<Patch> {
  const { parts, account } = running
  const isChecked = parts.context.settings.authorization === true && parts.settings.checksOwners
  if (!isChecked || !mayClaim(description)) return patch
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
  if (patch.type !== 'json') {
    const body = withField(patch.body, ['metadata', 'resourceVersion'], resourceVersion)
    return { ...patch, body }
  }
  const isSame = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }
  return { ...patch, body: [isSame, ...patch.body] }
}

/** What names no metadata moves none, unless it copies what is there. */
function mayClaim({ patchBody: { parts } }: PatchDescription): boolean {
  const isMoved = parts.some(({ op }) => op === 'copy' || op === 'move')
  return isMoved || JSON.stringify(parts).includes('metadata')
}

function send(
  running: ManifestRun,
  target: TargetObject,
  { body, type }: Patch,
): Promise<KubeObject> {
  const call = () =>
    running.account.api
      .patch(target.place, body, { type, fieldManager, isStrict: true })
      .catch(async (error: unknown) => {
        throw await explainPatchRefusal(running, target, error)
      })
  return aboutObject(describeTarget(running.account, target), () =>
    type === 'json' ? call() : retrying(running, call),
  )
}

function changeCause({ run }: ManifestRun, { name, place }: TargetObject): string {
  return `patchManifest ${name} --namespace=${place.namespace} by ${run.user}`
}

/** Binds artifacts. @throws {Error} where a required one occurs nowhere in it */
function mergeOf(
  running: ManifestRun,
  target: TargetObject,
  { patchBody, options, requiredArtifacts, allArtifacts }: PatchDescription,
): { readonly body: JsonObject; readonly bound: readonly JsonObject[] } {
  const { account, parts } = running
  const [given = {}] = patchBody.parts
  const { resource, namespace } = target.place
  const kind = { kind: resource.kind, apiVersion: apiVersionOf(resource) }
  const { manifest, bound } = bindArtifacts(
    { ...given, ...kind },
    {
      account: account.settings.name,
      namespace,
      artifacts: firstOfEachArtifact([...requiredArtifacts, ...allArtifacts]),
      matchesImages: parts.settings.imageBinding,
      references: account.settings.references,
    },
  )
  checkBound(requiredArtifacts, bound)
  const { kind: _kind, apiVersion: _version, ...fields } = manifest
  const body = {
    ...fields,
    ...('kind' in given && { kind: given['kind'] }),
    ...('apiVersion' in given && { apiVersion: given['apiVersion'] }),
  }
  const entries = { [changeCauseAnnotation]: changeCause(running, target) }
  return {
    body: options.record
      ? withEntries(body, ['metadata', 'annotations'], { entries, keepsExisting: false })
      : body,
    bound,
  }
}

function operationsOf(
  running: ManifestRun,
  target: LiveTarget,
  { patchBody, options }: PatchDescription,
): readonly JsonObject[] {
  const operations = patchBody.parts
  // A patch of the annotations themselves may leave no place for others.
  const touchesAll = operations.some((each) => {
    const { path, from } = toOperation(each)
    return [path, from].some((segments) => segments !== undefined && isAround(segments))
  })
  if (touchesAll) return operations
  const notes = {
    [writtenByAnnotation]: running.run.id,
    ...(options.record && { [changeCauseAnnotation]: changeCause(running, target) }),
  }
  return [
    ...operations,
    ...(target.live.metadata.annotations === undefined
      ? [{ op: 'add', path: '/metadata/annotations', value: {} }]
      : []),
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
