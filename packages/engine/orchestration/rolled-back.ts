/** Runs whose versions a rollback takes out of service: they say so, and their authors are told. */
import {
  type Deployment,
  deploymentsOf,
  latestFirst,
  toRun,
} from '@fairlead/model/environments/pipelines.ts'
import type { Execution } from './model.ts'
import type { ExecutionStore } from './store.ts'

/** Runs of an application that are looked at. */
const mostRuns = 100

interface Rollback {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** @param rollback Server groups or images, of which the second serves again @returns the newest first */
export function rolledBackRuns(
  store: ExecutionStore,
  application: string,
  { from, to }: Rollback,
): Execution[] {
  const query = { application, name: undefined, user: undefined, statuses: undefined }
  const page = store.searchPage(
    { ...query, from: 0, to: Number.MAX_SAFE_INTEGER, oldestFirst: false },
    undefined,
    mostRuns,
  )
  const runs = new Map(
    page.flatMap(({ id }) => {
      const run = store.load(id)
      return run === undefined ? [] : [[id, run] as const]
    }),
  )
  const deployments = deploymentsOf([...runs.values()].map(toRun)).toSorted(latestFirst)
  const imagesOf = (name: string | undefined) =>
    deployments.find((each) => isOf(each, name))?.images ?? (name === undefined ? [] : [name])
  const [left, right] = [imagesOf(from), imagesOf(to)]
  const has = (images: readonly string[]) => (each: Deployment) =>
    each.images.some((image) => images.includes(image))
  const first = deployments.findLastIndex(has(left))
  const last = Math.max(deployments.findLastIndex(has(right)), first + 1)
  const between = deployments.slice(first, last)
  const ids = new Set(between.filter((each) => !has(right)(each)).map(({ run }) => run.id))
  return first === -1 ? [] : [...ids].flatMap((id) => runs.get(id) ?? [])
}

/** Names of server groups are of one region each. */
function isOf({ serverGroups }: Deployment, name: string | undefined): boolean {
  return Object.values(serverGroups).flat().includes(name)
}
