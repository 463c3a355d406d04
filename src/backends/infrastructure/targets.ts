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

const aliases: Readonly<Record<string, string>> = { newest: 'current', ancestor: 'previous' }

export function findTarget(groups: readonly ServerGroup[], query: TargetQuery): TargetOutcome {
  const word = query.target.toLowerCase().replace(/_asg(?:_dynamic)?$/, '')
  const target = Object.hasOwn(aliases, word) ? (aliases[word] as string) : word
  const candidates = groups
    .filter(({ region, zones }) => region === query.scope || zones.includes(query.scope))
    .filter(({ isDisabled }) => !(query.onlyEnabled && isDisabled))
    .filter((group): group is Candidate => group.createdMs !== undefined)
    .sort((one, other) => other.createdMs - one.createdMs)
  return choose(target, candidates, query.validateOldest)
}

/** @param newest Newest first */
function choose(target: string, newest: readonly Candidate[], validateOldest: boolean): TargetOutcome {
  switch (target) {
    case 'current':
      return found(newest[0])
    case 'previous':
      return found(newest[1])
    case 'oldest':
      return validateOldest && newest.length < 2 ? found(undefined) : found(newest.at(-1))
    case 'largest':
      return found(largestOf(newest))
    case 'fail':
      if (newest.length <= 1) return found(newest[0])
      return { kind: 'none', why: `several are there: ${newest.map(({ name }) => name).join(', ')}` }
    default:
      return { kind: 'none', why: 'known targets are current, previous, oldest, largest and fail' }
  }
}

/** The newest of equal ones. */
function largestOf(newest: readonly Candidate[]): Candidate | undefined {
  return newest.reduce<Candidate | undefined>(
    (largest, group) => (largest === undefined || group.instances.length > largest.instances.length ? group : largest),
    undefined,
  )
}

function found(group: Candidate | undefined): TargetOutcome {
  return group === undefined ? { kind: 'none', why: 'there are too few server groups' } : { kind: 'found', group }
}
