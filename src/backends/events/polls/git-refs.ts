/** Branches and tags of Git repositories, polled for triggers with `poll`. @see docs/contracts/events.md#polls */
import { fieldOf, isObject, type JsonObject, objectOf, textOf, textsOf } from '../../../json/values.ts'
import { type BackendContext, BackendError, type ServiceAnswer } from '../../backend.ts'
import { withoutUserinfo } from '../../outside/git-repository.ts'
import type { Event } from '../event.ts'
import { isNoCommit, noCommit, refFields, tagPrefix, toBranch } from '../kinds/git/change.ts'
import { hasPathConditions, pollKeyOf } from '../kinds/git/conditions.ts'
import { repositoryName } from '../kinds/git/repository-name.ts'
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
    const known = last === undefined ? undefined : digests.get(last)
    const { body } = await ask(context, '/artifacts/git/refs', { ...accessOf(trigger), known }, signal)
    const { digest, refs } = objectOf(body)
    if (!isObject(refs)) {
      if (last !== undefined) return last
      throw new Error('The infrastructure service answered without refs.')
    }
    const state = new Map(Object.entries(refs).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
    if (typeof digest === 'string') digests.set(state, digest)
    return state
  },
  async toEvents(trigger, change, context, turn) {
    const { waiting } = turn
    const isTag = change.name.startsWith(tagPrefix)
    if (isTag && !waiting.some(({ tags }) => textOf(tags) !== undefined)) return []
    const files = waiting.some(hasPathConditions) ? await changedPaths(trigger, change, context, turn) : {}
    return [toEvent(trigger, change, files)]
  },
}

function accessOf(trigger: JsonObject): JsonObject {
  return { repository: trigger['repository'], account: textOf(trigger['artifactAccount']) }
}

function toEvent(trigger: JsonObject, { name, before, after }: PolledChange, files: JsonObject): Event {
  const repository = withoutUserinfo(String(trigger['repository']))
  const [slug = '', repoProject = ''] = (repositoryName(repository) ?? '').split('/').toReversed()
  const change = { ref: name, before: before ?? noCommit, after }
  return {
    id: '',
    type: 'git',
    source: 'poll',
    headers: {},
    attributes: {},
    content: {
      repoProject,
      slug,
      hash: after,
      branch: toBranch(name),
      action: 'push:push',
      pollKey: pollKeyOf(trigger),
      ...refFields(name),
      ...files,
    },
    payload: { repository, ...change },
    raw: undefined,
    artifact: undefined,
    isObserved: true,
  }
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
    const { body } = await ask(context, '/artifacts/git/changed-paths', { ...accessOf(trigger), ref: name, before, after })
    return { paths: textsOf(fieldOf(body, 'paths')) }
  } catch (error) {
    turn.problem = (error as Error).message
    return unknown(turn.problem)
  }
}

/** Credentials of repositories, and the restrictions of addresses, are those of the infrastructure service. */
async function ask(
  { call, isEmbedded }: BackendContext,
  path: string,
  body: JsonObject,
  signal?: AbortSignal,
): Promise<ServiceAnswer> {
  if (!isEmbedded('clouddriver'))
    throw new BackendError(400, 'Repositories are polled only with the embedded infrastructure service. Use webhooks.')
  const answer = await call('clouddriver', { method: 'POST', path, body })
  if (answer.status === 200) return answer
  signal?.throwIfAborted()
  throw new Error(textOf(fieldOf(answer.body, 'message')) ?? `The infrastructure service answered ${answer.status}.`)
}
