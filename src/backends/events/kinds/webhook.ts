/** Generic webhooks and CloudEvents. Events contract, sections 7.1 and 7.4. */
import { fieldOf, isObject, type JsonObject, objectOf, objectsOf } from '../../json-values.ts'
import { satisfies } from '../constraints.ts'
import type { Event } from '../event.ts'
import { pushedArtifacts } from '../pushed-artifacts.ts'
import type { TriggerKind } from './kind.ts'

function fields(_trigger: JsonObject, event: Event): JsonObject {
  return { payload: event.payload, parameters: objectOf(event.payload['parameters']) }
}

export const webhookKind: TriggerKind = {
  eventType: 'webhook',
  triggerTypes: ['webhook'],
  matches: (trigger, event) =>
    trigger['source'] === event.source && satisfies(trigger['payloadConstraints'], event.payload, { paths: true }),
  fields,
  artifacts: pushedArtifacts,
}

export const cdeventsKind: TriggerKind = {
  eventType: 'cdevents',
  triggerTypes: ['cdevents'],
  matches: (trigger, event) =>
    trigger['source'] === event.source &&
    satisfies(lowerCaseKeys(trigger['attributeConstraints']), event.headers, { paths: false }) &&
    satisfies(trigger['payloadConstraints'], event.payload, { paths: true }),
  fields,
  artifacts: (event) => objectsOf(fieldOf(event.payload['customData'], 'artifacts')),
}

/** Headers are known by lower-case names. */
function lowerCaseKeys(constraints: unknown): unknown {
  if (!isObject(constraints)) return constraints
  return Object.fromEntries(Object.entries(constraints).map(([name, pattern]) => [name.toLowerCase(), pattern]))
}
