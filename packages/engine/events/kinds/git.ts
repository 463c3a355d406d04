/** Source control: pushes and pull requests, and the triggers that they fire. @see docs/contracts/events.md#git */
import { asGiven, maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, isTrue, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { pushedArtifacts } from '../pushed-artifacts.ts'
import {
  describeOtherPaths,
  describeOtherRef,
  hasPathConditions,
  pollKeyOf,
} from './git/conditions.ts'
import { repositoryName } from './git/repository-name.ts'
import { joinNames, pick, type TriggerKind } from './kind.ts'
import { describeBadSignature } from './signature.ts'

const toTrigger = shape({
  source: textOf,
  project: textOf,
  repository: textOf,
  slug: textOf,
  events: textsOf,
  secret: textOf,
  poll: isTrue,
})
/** Senders that are services post events, too. */
const toContent = shape({
  repositories: textsOf,
  action: or(textOf, ''),
  hash: asGiven,
  branch: asGiven,
  tag: asGiven,
  pathsUnknown: asGiven,
  commit: maybeObject,
  authors: asGiven,
  isDeletion: isTrue,
  isFromFork: isTrue,
  pollKey: textOf,
  repoProject: textOf,
  slug: textOf,
})

function nameOf(...names: readonly (string | undefined)[]): string | undefined {
  return joinNames(...names)?.toLowerCase()
}

export const gitKind: TriggerKind = {
  eventType: 'git',
  triggerTypes: ['git'],
  awaits(trigger) {
    const { source, project, slug, repository } = toTrigger(trigger)
    const isAddress = project === undefined && repository !== undefined
    return [
      pollKeyOf(trigger),
      isAddress ? nameOf(source, repositoryName(repository)) : nameOf(source, project, slug),
    ]
  },
  about({ isObserved, source, content }) {
    const { pollKey, repositories, repoProject, slug } = toContent(content)
    if (isObserved) return [pollKey]
    return [...repositories.map((name) => nameOf(source, name)), nameOf(source, repoProject, slug)]
  },
  refuses(trigger, event) {
    const { action, isDeletion, isFromFork } = toContent(event.content)
    const { events, project, repository, secret, poll } = toTrigger(trigger)
    const isAny =
      (events.length === 0 && !isDeletion && !isFromFork) ||
      (event.isObserved === true && events.some((each) => /push|refs_changed/.test(each)))
    if (events.length === 0 && isFromFork)
      return `The commit is of a fork, where others may write: list "${action}" in the trigger's events to start with it.`
    if (!isAny && !events.includes(action))
      return `The action "${action}" is not among the trigger's events.`
    if (event.isObserved) return undefined
    // A trigger that polls needs no webhook: it takes none whose sender could be any.
    if (
      poll &&
      project === undefined &&
      repository !== undefined &&
      (secret ?? event.commonSecret?.()) === undefined
    )
      return 'The trigger polls its repository, and has no secret for webhooks. Set one to be notified sooner.'
    return describeBadSignature(trigger, event)
  },
  mismatch: (trigger, event, { patterns }) =>
    describeOtherRef(trigger, event, patterns) ?? describeOtherPaths(trigger, event, patterns),
  fields(trigger, { content }) {
    const { hash, branch, tag, pathsUnknown, commit, authors } = toContent(content)
    return {
      hash,
      branch,
      action: content['action'],
      properties: pick(content, ['number', 'draft', 'state', 'title']),
      ...definedOf({
        tag,
        pathsUnknown: hasPathConditions(trigger) ? pathsUnknown : undefined,
        commit,
        authors,
      }),
    }
  },
  artifacts: pushedArtifacts,
}
