/** Settings of notifications: what switches a channel on, and where links lead. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { load, problemsOf } from './given.ts'

const mail = {
  'mail.enabled': true,
  'mail.from': 'cd@shop.example',
  'spring.mail.host': 'mail.shop.example',
}

test('no kind of notification is switched on by default', async (t) => {
  const { config, notices } = await load(t, {})
  assert.deepEqual(config.backends.notifications, {
    types: {},
    links: { ui: 'console', baseUrl: 'http://127.0.0.1:8084' },
  })
  assert.deepEqual(notices, [])
})

test('keys of Spinnaker switch channels on', async (t) => {
  const settings = {
    ...mail,
    'spring.mail.properties.mail.smtp.starttls.enable': true,
    'slack.enabled': true,
    'slack.token': 'xoxb-1',
    'slack.botName': 'spinnaker',
    'microsoftteams.enabled': true,
    'googlechat.enabled': true,
    'github-status': { enabled: true, token: 'x' },
  }
  const { config, notices } = await load(t, { settings })
  const { types } = config.backends.notifications ?? { types: {} }
  assert.deepEqual(Object.keys(types), [
    'email',
    'slack',
    'microsoftteams',
    'googlechat',
    'githubStatus',
  ])
  assert.deepEqual(types['githubStatus'], { token: 'x', endpoint: 'https://api.github.com' })
  assert.ok(
    notices.some((notice) =>
      notice.startsWith('Links in notifications begin with http://127.0.0.1:8084.'),
    ),
  )
})

test('links lead to Deck where it is configured, else to the public address', async (t) => {
  const linksOf = async (settings: Record<string, unknown>) =>
    (await load(t, { settings })).config.backends.notifications?.links
  assert.deepEqual(await linksOf({ 'services.deck.baseUrl': 'https://deck.example/' }), {
    ui: 'deck',
    baseUrl: 'https://deck.example',
  })
  assert.deepEqual(await linksOf({ 'spinnaker.baseUrl': 'https://spin.example' }), {
    ui: 'deck',
    baseUrl: 'https://spin.example',
  })
  assert.deepEqual(await linksOf({ 'http.publicUrl': 'https://cd.example' }), {
    ui: 'console',
    baseUrl: 'https://cd.example',
  })
})

for (const [settings, key] of [
  [{ ...mail, 'mail.from': '' }, 'mail.from'],
  [{ ...mail, 'spring.mail.host': '' }, 'spring.mail.host'],
  [{ ...mail, 'spring.mail.username': 'cd' }, 'spring.mail.password'],
  [{ 'slack.enabled': true }, 'slack.token'],
  [{ 'webhook-notifications.enabled': true }, 'webhook-notifications.secret'],
  [{ 'github-status.enabled': true }, 'github-status.token'],
  [{ 'gitea-status': { enabled: true, token: 'x' } }, 'gitea-status.endpoint'],
] as const) {
  test(`a channel without ${key} is refused`, async (t) => {
    const problems = await problemsOf(t, { settings })
    assert.equal(problems.length, 1)
    assert.ok(problems[0]?.includes(`${key}: is needed with `), String(problems[0]))
  })
}
