/** Events of an Echo. */
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Events } from '@fairlead/ports/events.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import { successOf } from './success.ts'

export function openEcho(call: CallService): Events {
  const post = async (path: string, body: unknown, { identity }: Caller): Promise<void> => {
    successOf('echo', await call('echo', { method: 'POST', path, body, headers: identity }))
  }
  return {
    takesLifeCycle: true,
    triggerTypes: undefined,
    report: (event, as) => post('/', event, as),
    announce: (told, as) =>
      told.kind === 'event' ? post('/', told.event, as) : post('/notifications', told.request, as),
    record() {},
    deliveriesOf: () => undefined,
    describeUndelivered: () => [],
  }
}
