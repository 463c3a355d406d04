/** Source control: pushes and pull requests, and the triggers that they fire. @see docs/contracts/events.md#git */
import { definedOf, isTrue, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Event } from '../event.ts'
import { pushedArtifacts } from '../pushed-artifacts.ts'
import { describeOtherPaths, describeOtherRef, hasPathConditions, pollKeyOf } from './git/conditions.ts'
import { repositoryName } from './git/repository-name.ts'
import { pick, sameName, type TriggerKind } from './kind.ts'
import { describeBadSignature } from './signature.ts'

export const gitKind: TriggerKind = {
  eventType: 'git',
  triggerTypes: ['git'],
  concerns(trigger, { isObserved, source, content }) {
    if (isObserved) return pollKeyOf(trigger) === content['pollKey']
    if (!sameName(trigger['source'], source)) return false
    if (isNamedByAddress(trigger))
      return textsOf(content['repositories']).includes(repositoryName(String(trigger['repository'])) ?? '')
    return sameName(trigger['project'], content['repoProject']) && sameName(trigger['slug'], content['slug'])
  },
  refuses(trigger, event) {
    const action = textOf(event.content['action']) ?? ''
    const events = textsOf(trigger['events'])
    const isAny = events.length === 0 || (event.isObserved === true && events.some((each) => /push|refs_changed/.test(each)))
    if (!isAny && !events.includes(action)) return `The action "${action}" is not among the trigger's events.`
    return event.isObserved ? undefined : (describeUnproven(trigger, event) ?? describeBadSignature(trigger, event))
  },
  mismatch: (trigger, event, { patterns }) =>
    describeOtherRef(trigger, event, patterns) ?? describeOtherPaths(trigger, event, patterns),
  fields: (trigger, { content }) => ({
    hash: content['hash'],
    branch: content['branch'],
    action: content['action'],
    properties: pick(content, ['number', 'draft', 'state', 'title']),
    ...definedOf({ tag: content['tag'], pathsUnknown: hasPathConditions(trigger) ? content['pathsUnknown'] : undefined }),
  }),
  artifacts: pushedArtifacts,
}

function isNamedByAddress(trigger: JsonObject): boolean {
  return textOf(trigger['project']) === undefined && textOf(trigger['repository']) !== undefined
}

/** A trigger that polls needs no webhook: it takes none whose sender could be any. */
function describeUnproven(trigger: JsonObject, event: Event): string | undefined {
  const hasSecret = (textOf(trigger['secret']) ?? event.commonSecret?.()) !== undefined
  if (hasSecret || !isTrue(trigger['poll']) || !isNamedByAddress(trigger)) return undefined
  return 'The trigger polls its repository, and has no secret for webhooks. Set one to be notified sooner.'
}
