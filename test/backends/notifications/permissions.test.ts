/** Kinds of notification that name roles send for those alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { joinUsers } from '../../../packages/base/names/acting-users.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import {
  NotificationTypeKeys,
  toNotificationTypeSettings,
} from '../../../packages/engine/notifications/types/all.ts'
import { startBackends } from '../../support/backends.ts'
import { startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { quickPauses } from './support.ts'

const views: Record<string, JsonObject> = {
  bank: { roles: [{ name: 'bank' }], applications: [] },
  runner: { applications: [{ name: 'shop', authorizations: ['WRITE', 'EXECUTE'] }] },
}

test('a kind of notification with roles sends only for users who have one', async (t) => {
  const receiver = await startUpstream(t, () => ({}))
  const report = {
    problem: (key: string, text: string) => assert.fail(`${key}: ${text}`),
    notice: () => {},
    isSet: () => false,
  }
  const keys = NotificationTypeKeys.parse({
    'webhook-notifications.enabled': true,
    'webhook-notifications.secret': 'operators-secret',
    'webhook-notifications.permissions': { READ: ['bank'] },
    'googlechat.enabled': true,
  })
  const types = toNotificationTypeSettings(keys, report, {})
  const events = createEventsBackend({
    orchestratorMs: 10,
    buildMs: 1,
    cronMs: 1_000,
    notifications: quickPauses,
  })
  const { ask } = await startBackends(t, [events], {
    settings: {
      authorization: true,
      notifications: { types },
      outside: { ...defaultOutsideSettings, allowed: ['127.0.0.1/32'] },
    },
    others: async (_service, { path }) => ({
      status: 200,
      body: views[decodeURIComponent(path.split('/').at(-1) ?? '')],
    }),
  })
  const send = (type: string, user: string) => {
    const source = { application: 'shop', executionId: `run of ${user}` }
    const body = {
      notificationType: type,
      to: [`${receiver.url}/${type}-${encodeURIComponent(user)}`],
      source,
    }
    return ask('echo', 'POST', '/notifications', body, { 'x-spinnaker-user': user })
  }
  const steered = joinUsers(['bank', 'runner'])
  for (const user of ['runner', steered, 'bank'])
    assert.equal((await send('WEBHOOK', user)).status, 200)
  assert.equal((await send('googlechat', 'runner')).status, 200)
  await waitUntil(() => receiver.requests.length === 2, 'two notifications')
  assert.deepEqual(receiver.requests.map(({ path }) => path).toSorted(), [
    '/WEBHOOK-bank',
    '/googlechat-runner',
  ])

  const tried = async (user: string) => {
    const body = { type: 'webhook', address: `${receiver.url}/test`, application: 'shop' }
    return (await ask('echo', 'POST', '/notifications/test', body, { 'x-spinnaker-user': user }))
      .status
  }
  assert.deepEqual([await tried('runner'), await tried('bank')], [403, 200])
})
