/** `fairlead move` from a Front50, into a file, from that file, and from another Fairlead. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { JsonObject } from '../../src/json/values.ts'
import { runGateway } from '../support/gateway.ts'
import { program } from '../support/program.ts'
import { createHome } from '../support/serve.ts'
import { startUpstream } from '../support/upstream.ts'

const deploy = {
  id: 'p-1',
  application: 'shop',
  name: 'deploy',
  updateTs: '1600000002000',
  lastModifiedBy: 'alice',
  triggers: [{ type: 'jenkins', master: 'ci', job: 'shop', enabled: true, runAsUser: 'robot' }],
  notifications: [{ type: 'pagerduty', when: ['pipeline.failed'] }],
  stages: [
    { refId: '1', requisiteStageRefIds: [], type: 'wait', name: 'pause', waitTime: 1 },
    { refId: '2', requisiteStageRefIds: ['1'], type: 'destroyServerGroup', account: 'prod', name: 'clean' },
    { refId: '3', requisiteStageRefIds: ['1'], type: 'wercker', name: 'build' },
  ],
}
const older = { ...deploy, stages: [], updateTs: '1600000001000', lastModifiedBy: 'bob' }
const ofFront50 = {
  'GET /serviceAccounts': [{ name: 'deployer', memberOf: ['ops'] }],
  'GET /pipelineTemplates': [],
  'GET /v2/applications': [
    {
      ...{ name: 'SHOP', email: 'shop@example.com', updateTs: '1600000000000', cloudProviders: 'local' },
      environments: [{ name: 'production', accounts: ['prod'] }],
    },
  ],
  'GET /permissions/applications': [{ name: 'shop', permissions: { READ: ['ops'] } }],
  'GET /v2/projects': [{ id: 'pr-1', name: 'Web', config: { applications: ['shop'] } }],
  'GET /notifications': [
    { application: 'shop', email: [{ type: 'email', address: 'a@example.com', when: ['pipeline.failed'] }] },
  ],
  'GET /pipelines': [deploy, { id: 'p-2', application: 'shop', triggers: [] }],
  'GET /pipelines/p-1/history': [deploy, older],
  'GET /pipelines/p-2/history': [],
  'GET /strategies': [],
}

test('definitions move with their histories, and the report lists what does not fit', async (t) => {
  const front50 = await startUpstream(t, ofFront50)
  const home = createHome(t)
  const settings = join(home, 'move.yml')
  writeFileSync(settings, JSON.stringify({ anonymous: { enabled: true } }))
  const move = async (data: string, ...words: string[]) => {
    const env = { PATH: process.env['PATH'], HOME: home, FAIRLEAD_DATA_DIR: join(home, data) }
    const child = spawn(process.execPath, [program, 'move', ...words, '--config', settings], { cwd: home, env })
    const closed = once(child, 'close') as Promise<[number | null]>
    const [out, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), closed])
    return { status, out, errors }
  }
  const file = join(home, 'definitions.gz')

  await t.test('a dry run reports, and writes nothing', async () => {
    const { status, out, errors } = await move('one', '--from', front50.url, '--dry-run')
    assert.equal(status, 0, errors)
    for (const line of [
      /^applications: 1 new$/m,
      /^pipelines: 1 new, 1 refused$/m,
      /does not run stages of the type wercker: replace them/,
      /^applications \/ SHOP: The environment "production" names the account "prod", which does not exist/m,
      /Accounts that do not exist here: prod\. Configure them/,
      /the build server "ci" is not configured\. Connect it/,
      /The service account "robot" of a trigger does not exist here/,
      /Notifications by pagerduty are unknown here/,
      /refused\. A pipeline needs the field "name"/,
      /Nothing is written/,
    ])
      assert.match(out, line)
    assert.match((await move('one', '--from', front50.url)).out, /^pipelines: 1 new, 1 refused$/m)
  })

  await t.test('a second run changes nothing; other content is replaced on demand only', async () => {
    assert.match((await move('one', '--from', front50.url)).out, /^pipelines: 1 equal, 1 refused$/m)
    front50.answer({ ...ofFront50, 'GET /pipelines': [{ ...deploy, description: 'changed' }] })
    assert.match((await move('one', '--from', front50.url)).out, /^pipelines: 1 different$/m)
    assert.match((await move('one', '--from', front50.url, '--replace')).out, /^pipelines: 1 replaced$/m)
  })

  await t.test('a file carries everything to another instance, whose API shows authors and times', async (t) => {
    assert.equal((await move('one', '--to', file)).status, 0)
    assert.match((await move('two', '--from', file)).out, /^pipelines: 1 new$/m)
    const { url } = await runGateway(t, {}, { embedded: true, dataDir: join(home, 'two') })
    const history = (await (await fetch(`${url}/pipelineConfigs/p-1/history`)).json()) as JsonObject[]
    assert.deepEqual(
      history.slice(1).map(({ updateTs, lastModifiedBy }) => [updateTs, lastModifiedBy]),
      [
        ['1600000002000', 'alice'],
        ['1600000001000', 'bob'],
      ],
    )
    const application = (await (await fetch(`${url}/applications/shop`)).json()) as { attributes: JsonObject }
    assert.deepEqual(application.attributes['permissions'], { READ: ['ops'] })
    const refused = await move('two', '--from', file)
    assert.equal(refused.status, 1)
    assert.match(refused.errors, /Another Fairlead uses the data directory/)
    const third = await move('three', '--from', url)
    assert.equal(third.status, 0, third.errors)
    assert.match(third.out, /^pipelines: 1 new$/m)
    assert.match(third.errors, /A Gate shows neither service accounts/)
  })

  await t.test('a file that is cut off moves nothing', async () => {
    truncateSync(file, readFileSync(file).length - 20)
    const { status, out, errors } = await move('four', '--from', file)
    assert.equal(status, 1)
    assert.equal(out, '')
    assert.match(errors, /is damaged/)
  })
})
