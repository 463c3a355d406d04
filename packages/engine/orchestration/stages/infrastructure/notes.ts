/** Notes that the engine keeps in contexts and outputs of stages: key and shape of each, with its reader and its writer. */
import { list, maybe, or, type Reader, shape } from '@fairlead/base/json/shape.ts'
import {
  isTrue,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { effectsKey } from '@fairlead/model/stage-types/effect.ts'
import {
  type CloudCapacity,
  type PlacedName,
  placedNames,
  toCapacity,
  toCloudTask,
  toMoniker,
} from '@fairlead/ports/cloud-values.ts'
import { conditionKey } from '../../model.ts'
import type { TaskContext } from '../stage-type.ts'

interface Note<T> {
  /** @param holder Context or outputs of a stage */
  in(holder: JsonObject): T
  /** Value of the stage, or of the nearest one ahead with it among its outputs. */
  around(context: Pick<TaskContext, 'read'>): T
  as(value: T): JsonObject
}

export function note<T>(
  key: string,
  read: Reader<T>,
  write: (value: T) => unknown = (value) => value,
): Note<T> {
  return {
    in: (holder) => read(holder[key]),
    around: (context) => read(context.read(key)),
    as: (value) => ({ [key]: write(value) }),
  }
}

/** By region or namespace, as clients read them. */
function namesNote(key: string): Note<readonly PlacedName[]> {
  return note<readonly PlacedName[]>(key, placedNames, (names) =>
    Object.fromEntries(
      [...Map.groupBy(names, ({ location }) => location)].map(([location, here]) => [
        location,
        here.map(({ name }) => name),
      ]),
    ),
  )
}

export const createdNote = namesNote('deploy.server.groups')
export const jobsNote = namesNote('deploy.jobs')

/** Objects that the stage has deployed. */
export const deployedNote = namesNote('outputs.manifestNamesByNamespace')

/** What the cluster has answered for them. */
export const manifestsNote = note('outputs.manifests', objectsOf)

const text = or(textOf, '')

/** What a stage of a cluster has chosen. */
export const chosenNote = note(
  'chosenServerGroups',
  list(shape({ provider: text, account: text, region: text, name: text })),
)

/** Names that `shrinkCluster` of a strategy leaves alone. */
export const keptNote = note('keptServerGroups', textsOf)

/** What the target of a stage is in each region. */
export const foundTargetsNote = note(
  'targetReferences',
  list(shape({ region: text, serverGroupName: textOf })),
)

/** Id of the task that was submitted last. */
export const lastTaskNote = note<string | undefined>(
  'kato.last.task.id',
  (value) => shape({ id: textOf })(value).id,
  (id) => id && { id, resourceUri: `/task/${id}` },
)

export const tasksNote = note(
  'kato.tasks',
  (tasks) => list(toCloudTask)(tasks).filter((task) => task !== undefined),
  (tasks) =>
    tasks.map(({ id, all: { status, history, resultObjects, outputs }, results }) => {
      const exception = results.find(({ type }) => type === 'EXCEPTION')?.all
      return { id, status, history, resultObjects, outputs, ...(exception && { exception }) }
    }),
)

/** A server group as it was before it was changed. */
export interface Former {
  readonly name: string
  readonly capacity: CloudCapacity
  readonly isDisabled: boolean
}

/** Outlives a restart of the stage: what an earlier attempt has stopped shows its size no more. */
export const stoppedNote = note<readonly Former[]>(
  'source.stopped',
  list(shape({ name: text, capacity: toCapacity, isDisabled: isTrue })),
)

/** The server group that was there before: the author may name it, and the deployment notes how it was at its beginning. */
export const sourceNote = note(
  'source',
  shape({
    name: [textOf, 'serverGroupName', 'asgName'],
    account: [textOf, 'account', 'credentials', 'accountName'],
    region: textOf,
    application: textOf,
    cluster: textOf,
    useSourceCapacity: isTrue,
    capacity: maybe(toCapacity),
    isDisabled: isTrue,
  }),
)

/** The same with all that it says. */
export const givenSourceNote = note('source', objectOf)

/** The strategy that the stage has chosen by itself. */
export const strategyNote = note('deploy.strategy', textOf)

/** Whether a target that has been deleted meanwhile is no error. */
export const mayBeMissingNote = note('source.mayBeMissing', isTrue)

export const readRollback = shape({
  capacity: [toCapacity, 'rollback.capacity'],
  /** What is restored. */
  restored: [toCapacity, 'restore.capacity'],
  stopsFirst: [isTrue, 'rollback.stopsFirst'],
  moniker: [toMoniker, 'rollback.moniker'],
})

const prefixes = [
  'kato.',
  'deploy.',
  'targetop.',
  'source.',
  'target.',
  'refresh.',
  'waiting.',
  'rollback.',
  'restore.',
]
const keys: ReadonlySet<string> = new Set([
  ...['exception', 'notice', conditionKey, effectsKey, 'targetReferences', 'chosenServerGroups'],
  ...['instanceIdsToDisable', 'launchTimes', 'terminatedAt', 'rollbacks'],
])

/** The context without what the engine and earlier operations have noted in it. */
export function withoutNotes(context: JsonObject): JsonObject {
  const isNote = (key: string) => keys.has(key) || prefixes.some((prefix) => key.startsWith(prefix))
  return Object.fromEntries(Object.entries(context).filter(([key]) => !isNote(key)))
}
