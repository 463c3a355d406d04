/** Generic webhooks and CloudEvents. docs/contracts/events.md#webhooks, #registries-and-messages. */
import {
  fieldOf,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
} from '@fairlead/base/json/values.ts'
import { describeUnsatisfied } from '../constraints.ts'
import type { Event } from '../event.ts'
import { pushedArtifacts } from '../pushed-artifacts.ts'
import type { TriggerKind } from './kind.ts'

function fields(_trigger: JsonObject, event: Event): JsonObject {
  return { payload: event.payload, parameters: objectOf(event.payload['parameters']) }
}

const bySource: Pick<TriggerKind, 'awaits' | 'about'> = {
  awaits: ({ source }) => (typeof source === 'string' ? [source] : []),
  about: ({ source }) => [source],
}

export const webhookKind: TriggerKind = {
  eventType: 'webhook',
  triggerTypes: ['webhook'],
  ...bySource,
  mismatch: (trigger, event, { patterns }) =>
    describeUnsatisfied(trigger['payloadConstraints'], event.payload, { paths: true, patterns }),
  fields,
  artifacts: pushedArtifacts,
}

export const cdeventsKind: TriggerKind = {
  eventType: 'cdevents',
  triggerTypes: ['cdevents'],
  ...bySource,
  mismatch: (trigger, event, { patterns }) =>
    describeUnsatisfied(lowerCaseKeys(trigger['attributeConstraints']), event.headers, {
      paths: false,
      patterns,
    }) ??
    describeUnsatisfied(trigger['payloadConstraints'], event.payload, { paths: true, patterns }),
  fields,
  artifacts: (event) => objectsOf(fieldOf(event.payload['customData'], 'artifacts')),
}

/** Headers are known by lower-case names. */
function lowerCaseKeys(constraints: unknown): unknown {
  if (!isObject(constraints)) return constraints
  return Object.fromEntries(
    Object.entries(constraints).map(([name, pattern]) => [name.toLowerCase(), pattern]),
  )
}
