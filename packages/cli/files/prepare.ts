/** The plan of `diff` and `apply`: what files say, what the instance has, and what an earlier `apply` has made. */
import { nearestName } from '@fairlead/base/names/edit-distance.ts'
import {
  type FileKind,
  fileKinds,
  isFileKind,
} from '@fairlead/model/definition-files/file-kinds.ts'
import type { Client } from '../client.ts'
import { misuse } from '../failure.ts'
import { type Definition, keyOf } from './definition.ts'
import type { Instance as OpenInstance } from './instance.ts'
import { type Change, planOf } from './plan.ts'

/** Options that `diff` and `apply` have in common. */
export const planOptions = {
  file: { type: 'text', short: 'f', value: 'DIR', summary: 'folder with definitions, or one file' },
  only: { type: 'list', value: 'KIND', summary: `${fileKinds.join(', ')}; may be repeated` },
  prune: { type: 'switch', summary: 'delete what an earlier apply has created and no file has' },
} as const

interface PlanValues {
  readonly file: string | undefined
  readonly only: readonly string[]
  readonly prune: boolean
}

/** Content of the files that were read. */
interface PlanInput {
  readonly definitions: readonly Definition[]
  readonly kinds: readonly FileKind[]
  readonly prunes: boolean
}

/** @throws {Failure} with 3 */
export async function readPlanInput({ file, only, prune }: PlanValues): Promise<PlanInput> {
  const { readFolder } = await import('./read-folder.ts')
  if (file === undefined)
    throw misuse('The folder with the definitions is missing.', 'Name it with -f DIR.')
  const kinds = (only ?? []).map((kind) => {
    if (isFileKind(kind)) return kind
    const near = nearestName(fileKinds, kind)
    const advice =
      near === undefined ? `There is ${fileKinds.join(', ')}.` : `Did you mean ${near}?`
    throw misuse(`"${kind}" is no kind of definition.`, advice)
  })
  return {
    definitions: readFolder(file),
    kinds: kinds.length === 0 ? fileKinds : kinds,
    prunes: prune,
  }
}

/** @throws {Failure} */
export async function preparePlan(
  client: Client,
  { definitions, kinds, prunes }: PlanInput,
): Promise<{ instance: OpenInstance; changes: Change[] }> {
  const { Instance } = await import('./instance.ts')
  const instance = new Instance(client)
  const wanted = definitions.filter(({ kind }) => kinds.includes(kind))
  await instance.reserve(wanted)
  instance.checkReferences(wanted)
  const places = new Map(
    wanted.map(({ kind, application = '' }) => [`${kind} ${application}`, { kind, application }]),
  )
  const present: Definition[] = []
  for (const { kind, application } of places.values())
    present.push(...(await instance.read(kind, application)))
  const surplus = prunes ? await surplusOf(instance, definitions, kinds) : []
  return { instance, changes: planOf(instance.named(wanted), present, surplus) }
}

async function surplusOf(
  instance: OpenInstance,
  definitions: readonly Definition[],
  kinds: readonly FileKind[],
): Promise<Definition[]> {
  const kept = new Set(definitions.map(keyOf))
  const applications = new Set(definitions.flatMap(({ application }) => application ?? []))
  const found: Definition[] = []
  for (const application of applications)
    for (const kind of kinds) found.push(...(await instance.made(kind, application)))
  return found.filter((definition) => !kept.has(keyOf(definition)))
}
