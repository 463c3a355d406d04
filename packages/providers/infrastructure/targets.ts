/** Target server groups: relative words such as `previous`, resolved in a cluster. */
import type { ServerGroup } from './model.ts'

export interface TargetQuery {
  readonly target: string
  /** A region or a zone. */
  readonly scope: string
  readonly onlyEnabled: boolean
  /** With one candidate left there is no oldest one. */
  readonly validateOldest: boolean
}

export type TargetOutcome =
  | { readonly kind: 'found'; readonly group: ServerGroup }
  | { readonly kind: 'none'; readonly why: string }

type Candidate = ServerGroup & { readonly createdMs: number }

/** Candidates come newest first. */
type Choice = (newest: readonly Candidate[], validateOldest: boolean) => Candidate | undefined

const current: Choice = (newest) => newest[0]
const previous: Choice = (newest) => newest[1]

const choices: Readonly<Record<string, Choice>> = {
  current,
  newest: current,
  previous,
  ancestor: previous,
  oldest: (newest, validateOldest) => (validateOldest && newest.length < 2 ? undefined : newest.at(-1)),
  // The newest of equal ones.
  largest: (newest) => newest.toSorted((one, other) => other.instances.length - one.instances.length)[0],
  fail: (newest) => (newest.length > 1 ? undefined : newest[0]),
}

export function findTarget(groups: readonly ServerGroup[], query: TargetQuery): TargetOutcome {
  const target = query.target.toLowerCase().replace(/_asg(?:_dynamic)?$/, '')
  const choose = Object.hasOwn(choices, target) ? choices[target] : undefined
  if (choose === undefined) return { kind: 'none', why: 'known targets are current, previous, oldest, largest and fail' }
  const candidates = groups
    .filter(({ region, zones }) => region === query.scope || zones.includes(query.scope))
    .filter(({ isDisabled }) => !(query.onlyEnabled && isDisabled))
    .filter((group): group is Candidate => group.createdMs !== undefined)
    // Where times are whole seconds, the numbers of a cluster decide.
    .sort((one, other) => other.createdMs - one.createdMs || (other.moniker.sequence ?? 0) - (one.moniker.sequence ?? 0))
  const group = choose(candidates, query.validateOldest)
  if (group !== undefined) return { kind: 'found', group }
  const isAmbiguous = target === 'fail' && candidates.length > 1
  const names = candidates.map(({ name }) => name).join(', ')
  return { kind: 'none', why: isAmbiguous ? `several are there: ${names}` : 'there are too few server groups' }
}
