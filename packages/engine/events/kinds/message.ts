/** Messages of queues, and releases of plug-ins. docs/contracts/events.md#registries-and-messages. */
import { definedOf, isObject, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { describeUnsatisfied } from '../constraints.ts'
import type { Event } from '../event.ts'
import { pick, sameName, type TriggerKind } from './kind.ts'

export const messageKinds: TriggerKind[] = [
  {
    eventType: 'pubsub',
    triggerTypes: ['pubsub'],
    concerns(trigger, event) {
      const message = messageOf(event)
      const same = (name: string) => textOf(trigger[name])?.toLowerCase() === textOf(message[name])?.toLowerCase()
      return textOf(trigger['subscriptionName']) !== undefined && same('subscriptionName') && same('pubsubSystem')
    },
    mismatch: (trigger, event, { patterns }) =>
      describeUnsatisfied(trigger['attributeConstraints'], event.attributes, { paths: false, patterns }) ??
      describeUnsatisfied(trigger['payloadConstraints'], event.payload, { paths: false, patterns }),
    fields: (_trigger, event) => ({
      payload: event.payload,
      parameters: objectOf(event.payload['parameters']),
      ...definedOf({ link: textOf(event.payload['link']), linkText: textOf(event.payload['linkText']) }),
    }),
    artifacts: (event) => objectsOf(messageOf(event)['artifacts']),
  },
  {
    eventType: 'plugin',
    triggerTypes: ['plugin'],
    reportedByServices: true,
    concerns: (trigger, { content }) => sameName(textOf(trigger['pluginEventType']) ?? 'PUBLISHED', content['pluginEventType']),
    mismatch: () => undefined,
    fields: (_trigger, { content }) => pick(content, releaseFields),
    artifacts: () => [],
  },
]

/** The fields of a release; whatever else the event has must not change what the trigger is, or whom it runs as. */
const releaseFields = [
  ...['pluginId', 'description', 'provider', 'version', 'releaseDate', 'requires', 'parsedRequires'],
  ...['binaryUrl', 'sha256sum', 'sha512sum', 'preferred'],
]

/** Bridges wrap what they know of the message, apart from its body. */
function messageOf({ content }: Event): JsonObject {
  return isObject(content['messageDescription']) ? content['messageDescription'] : content
}
