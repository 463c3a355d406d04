/** Messages of queues, and releases of plug-ins. docs/contracts/events.md#registries-and-messages. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, isObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { describeUnsatisfied } from '../constraints.ts'
import type { Event } from '../event.ts'
import { pick, type TriggerKind } from './kind.ts'

const lowerCase = (value: unknown) => textOf(value)?.toLowerCase()

const toSubscription = shape({
  subscriptionName: lowerCase,
  pubsubSystem: lowerCase,
  artifacts: objectsOf,
})
const toBody = shape({ parameters: objectOf, link: textOf, linkText: textOf })
const toPlugin = shape({ pluginEventType: or(textOf, 'PUBLISHED') })

export const messageKinds: TriggerKind[] = [
  {
    eventType: 'pubsub',
    triggerTypes: ['pubsub'],
    awaits: (trigger) => [subscriptionOf(toSubscription(trigger))],
    about: (event) => [subscriptionOf(messageOf(event))],
    mismatch: (trigger, event, { patterns }) =>
      describeUnsatisfied(trigger['attributeConstraints'], event.attributes, {
        paths: false,
        patterns,
      }) ??
      describeUnsatisfied(trigger['payloadConstraints'], event.payload, { paths: false, patterns }),
    fields: (_trigger, { payload }) => ({ payload, ...definedOf(toBody(payload)) }),
    artifacts: (event) => messageOf(event).artifacts,
  },
  {
    eventType: 'plugin',
    triggerTypes: ['plugin'],
    reportedByServices: true,
    awaits: (trigger) => [lowerCase(toPlugin(trigger).pluginEventType)],
    about: ({ content }) => [lowerCase(content['pluginEventType'])],
    mismatch: () => undefined,
    fields: (_trigger, { content }) => pick(content, releaseFields),
    artifacts: () => [],
  },
]

/** The fields of a release; whatever else the event has must not change what the trigger is, or whom it runs as. */
const releaseFields = [
  ...[
    'pluginId',
    'description',
    'provider',
    'version',
    'releaseDate',
    'requires',
    'parsedRequires',
  ],
  ...['binaryUrl', 'sha256sum', 'sha512sum', 'preferred'],
]

function subscriptionOf({
  subscriptionName,
  pubsubSystem,
}: ReturnType<typeof toSubscription>): string | undefined {
  return subscriptionName && JSON.stringify([subscriptionName, pubsubSystem ?? null])
}

/** Bridges wrap what they know of the message, apart from its body. */
function messageOf({ content }: Event) {
  return toSubscription(
    isObject(content['messageDescription']) ? content['messageDescription'] : content,
  )
}
