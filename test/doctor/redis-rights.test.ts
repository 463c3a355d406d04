/** The rights in Redis that the rate limits need, tried by the doctor. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { documentedUser, startRedis } from '../support/redis.ts'
import { about, brief, examineSettings } from './support.ts'

const using = { 'rate-limit': { enabled: true, learning: false }, 'api-tokens': { enabled: false } }

test('documented Redis rights suffice and nothing remains', async (t) => {
  const server = await startRedis(t, { users: [documentedUser()] })
  if (server === undefined) return
  const redis = { connection: `redis://fairlead:secret@127.0.0.1:${server.port}` }
  const findings = about(await examineSettings(t, { ...using, redis }), 'Redis')
  assert.deepEqual(
    [...new Set(findings.map(({ verdict }) => verdict))],
    ['ok'],
    JSON.stringify(findings),
  )
  const tried = findings.map((finding) => finding.tried)
  for (const what of ['count requests, by a script', 'read the limits that are set in Redis']) {
    assert.ok(tried.includes(what), what)
  }
  assert.equal(await server.ask('dbsize'), 0)
})

test('each right that lacks is told with what cannot be done', async (t) => {
  const server = await startRedis(t, {
    users: [documentedUser('-hset').replace('~rateLimit:* ', '')],
  })
  if (server === undefined) return
  const redis = { connection: `redis://fairlead:secret@127.0.0.1:${server.port}` }
  const findings = about(await examineSettings(t, { ...using, redis }), 'Redis')
  const problems = findings.filter(({ verdict }) => verdict === 'problem')
  const expected = [
    'count requests, by a script',
    'read the limits that are set in Redis',
    'read who is limited in any case',
  ]
  const told = brief(problems)
  for (const what of expected) assert.ok(told.includes(`problem: ${what}`), JSON.stringify(told))
  assert.match(problems.at(-1)?.advice ?? '', /docs\/guides\/replicas\.md/)
})

test('what is not used in Redis is not tried there', async (t) => {
  const server = await startRedis(t)
  if (server === undefined) return
  const findings = about(await examineSettings(t, { redis: { connection: server.url } }), 'Redis')
  assert.ok(!findings.some(({ tried }) => /count requests|limits/.test(tried)))
})
