/** Branches and tags of Git repositories, polled for triggers with `poll`. @see docs/contracts/events.md#polls */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { withoutUserinfo } from '@fairlead/base/outside/git-repository.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { PolledRepository } from '@fairlead/ports/infrastructure.ts'
import { type Event, observedEvent } from '../event.ts'
import { isNoCommit, noCommit, refFields, tagPrefix, toBranch } from '../kinds/git/change.ts'
import { hasPathConditions, pollKeyOf } from '../kinds/git/conditions.ts'
import { repositoryName } from '../kinds/git/repository-name.ts'
import { versionReads } from './ask-infrastructure.ts'
import type { PolledChange, PolledSource, PolledState, PollTurn } from './polled-source.ts'

/** Digests of what was read, by which an unchanged repository is not sent again. */
const digests = new WeakMap<PolledState, string>()

export const gitRefs: PolledSource = {
  triggerType: 'git',
  keyOf: pollKeyOf,
  summaryOf: ({ repository }) => ({ repository: withoutUserinfo(String(repository)) }),
  intervalMs: ({ repository }, { polls }) =>
    (/^https?:/i.test(String(repository)) ? polls.intervalS : polls.programIntervalS) * 1000,
  async read(trigger, context, signal, last) {
    const known = last && digests.get(last)
    if (context.ports.infrastructure.versions === undefined)
      throw new PortError(
        400,
        'Repositories are polled only with the embedded infrastructure service. Use webhooks.',
      )
    const { digest, refs } = await versionReads(context).gitRefs(repositoryOf(trigger), known)
    signal.throwIfAborted()
    if (refs === undefined && last !== undefined) return last
    const state = new Map(Object.entries(refs ?? {}))
    digests.set(state, digest)
    return state
  },
  async toEvents(trigger, change, context, turn) {
    const { waiting } = turn
    const isTag = change.name.startsWith(tagPrefix)
    if (isTag && !waiting.some(({ tags }) => tags)) return []
    const files = waiting.some(hasPathConditions)
      ? await changedPaths(trigger, change, context, turn)
      : {}
    return [toEvent(trigger, change, files)]
  },
}

const repositoryOf: (trigger: JsonObject) => PolledRepository = shape({
  url: [or(textOf, ''), 'repository'],
  account: [textOf, 'artifactAccount'],
})

function toEvent(
  trigger: JsonObject,
  { name, before, after }: PolledChange,
  files: JsonObject,
): Event {
  const repository = withoutUserinfo(String(trigger['repository']))
  const [slug = '', repoProject = ''] = (repositoryName(repository) ?? '').split('/').toReversed()
  const change = { ref: name, before: before ?? noCommit, after }
  const content = {
    repoProject,
    slug,
    hash: after,
    branch: toBranch(name),
    action: 'push:push',
    pollKey: pollKeyOf(trigger),
    ...refFields(name),
    ...files,
  }
  return observedEvent('git', content, { repository, ...change })
}

/** A push whose files cannot be read matches, and says why. */
async function changedPaths(
  trigger: JsonObject,
  { name, before, after }: PolledChange,
  context: BackendContext,
  turn: PollTurn,
): Promise<JsonObject> {
  const unknown = (reason: string) => ({ pathsUnknown: `The changed files are unknown: ${reason}` })
  if (before === undefined || isNoCommit(before)) return unknown('the ref is new.')
  if (turn.problem !== undefined) return unknown(turn.problem)
  try {
    return {
      paths: await versionReads(context).changedPaths(repositoryOf(trigger), {
        ref: name,
        before,
        after,
      }),
    }
  } catch (error) {
    turn.problem = (error as Error).message
    return unknown(turn.problem)
  }
}
