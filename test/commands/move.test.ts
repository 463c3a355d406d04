/** `fairlead move` from a Front50, into a file, from that file, and from another Fairlead. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { JsonObject } from '../../packages/base/json/values.ts'
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
    {
      refId: '2',
      requisiteStageRefIds: ['1'],
      type: 'destroyServerGroup',
      account: 'prod',
      name: 'clean',
    },
    { refId: '3', requisiteStageRefIds: ['1'], type: 'wercker', name: 'build' },
  ],
}
const older = { ...deploy, stages: [], updateTs: '1600000001000', lastModifiedBy: 'bob' }
const shop = {
  ...{
    name: 'SHOP',
    email: 'shop@example.com',
    updateTs: '1600000000000',
    cloudProviders: 'local',
  },
  environments: [{ name: 'production', accounts: ['prod'] }],
}
/** Nothing that Front50 would not have let in. */
const odd = [
  {
    id: 'a/b',
    application: 'shop',
    name: 'release/1.0 für Köln',
    triggers: [],
    index: 3,
    'x-team': { any: [1.0, null] },
    stages: [],
  },
  { id: 'p-4', application: 'gone', name: 'left over', triggers: [] },
  { id: 'p-5', application: 'shop', name: ' Deploy ', triggers: [] },
]
const ofFront50 = {
  'GET /serviceAccounts': [{ name: 'deployer', memberOf: ['ops'] }],
  // As one save of Front50 leaves them: the copy under the digest has the tag, too.
  'GET /pipelineTemplates': [
    { id: 'base', schema: 'v2' },
    { id: 'base', schema: 'v2', tag: 'latest' },
    { id: 'base', schema: 'v2', tag: 'latest', digest: 'abc' },
  ],
  'GET /v2/applications': [{ ...shop, permissions: { READ: ['ops'] } }],
  'GET /v2/applications/shop/history': [
    shop,
    { ...shop, email: 'old@example.com', updateTs: '1500000000000' },
  ],
  'GET /permissions/applications': [
    { name: 'shop', permissions: { READ: ['ops'] } },
    { name: 'SHOP-2', permissions: {}, lastModified: -1, lastModifiedBy: 'auto-generated' },
  ],
  'GET /v2/projects': [{ id: 'pr-1', name: 'Web', config: { applications: ['shop'] } }],
  'GET /notifications': [
    {
      application: 'shop',
      email: [{ type: 'email', address: 'a@example.com', when: ['pipeline.failed'] }],
    },
  ],
  'GET /pipelines': [deploy, { id: 'p-2', application: 'shop', triggers: [] }, ...odd],
  'GET /pipelines/p-1/history': [deploy, older],
  'GET /pipelines/p-4/history': [odd[1]],
  'GET /strategies': [],
}

test('definitions move with their histories, and the report lists what does not fit', async (t) => {
  const front50 = await startUpstream(t, ofFront50)
  const home = createHome(t)
  const settings = join(home, 'move.yml')
  writeFileSync(settings, JSON.stringify({ anonymous: { enabled: true } }))
  const move = async (data: string, ...words: string[]) => {
    const env = { PATH: process.env['PATH'], HOME: home, FAIRLEAD_DATA_DIR: join(home, data) }
    const child = spawn(process.execPath, [program, 'move', ...words, '--config', settings], {
      cwd: home,
      env,
    })
    const closed = once(child, 'close') as Promise<[number | null]>
    const [out, errors, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      closed,
    ])
    return { status, out, errors }
  }
  const file = join(home, 'definitions.gz')

  await t.test('a dry run reports, and writes nothing', async () => {
    const { status, out, errors } = await move('one', '--from', front50.url, '--dry-run')
    assert.equal(status, 0, errors)
    for (const line of [
      /^templates: 3 new$/m,
      /^applications: 1 new$/m,
      /^permissions: 1 new$/m,
      /^pipelines: 3 new, 2 refused$/m,
      /^The source does not show the history of 1 objects\. Name an administrator/m,
      /left over of gone, application: The application "gone" does not exist/,
      / {2}Deploy {2}of shop: refused\. /,
      /deploy of shop, Stage "build": The embedded engine does not run stages of the type "wercker"/,
      /^applications \/ SHOP, environments\[0\]: The environment "production" names the account "prod", which does not exist/m,
      /The account "prod" does not exist here.* Configure it/,
      /the build server "ci" is not configured\. Connect it/,
      /The service account "robot" does not exist here/,
      /Nothing delivers notifications of the kind "pagerduty"/,
      /refused\. A pipeline needs the field "name"/,
      /Nothing is written/,
    ])
      assert.match(out, line)
    assert.match((await move('one', '--from', front50.url)).out, /^pipelines: 3 new, 2 refused$/m)
  })

  await t.test(
    'a second run changes nothing; other content is replaced on demand only',
    async () => {
      const { out } = await move('one', '--from', front50.url)
      assert.match(out, /^pipelines: 3 equal, 2 refused$/m)
      assert.doesNotMatch(out, /\d (new|different)/)
      const { 'GET /serviceAccounts': _absent, ...others } = ofFront50
      front50.answer({ ...others, 'GET /pipelines': [{ ...deploy, description: 'changed' }] })
      assert.match((await move('one', '--from', front50.url)).out, /^pipelines: 1 different$/m)
      assert.match(
        (await move('one', '--from', front50.url, '--replace')).out,
        /^pipelines: 1 replaced$/m,
      )
    },
  )

  await t.test(
    'a file carries everything to another instance, whose API shows authors and times',
    async (t) => {
      assert.equal((await move('one', '--to', file)).status, 0)
      assert.match((await move('two', '--from', file)).out, /^pipelines: 3 new$/m)
      const { url } = await runGateway(t, {}, { embedded: true, dataDir: join(home, 'two') })
      const history = (await (
        await fetch(`${url}/pipelineConfigs/p-1/history`)
      ).json()) as JsonObject[]
      assert.deepEqual(
        history.slice(1).map(({ updateTs, lastModifiedBy }) => [updateTs, lastModifiedBy]),
        [
          ['1600000002000', 'alice'],
          ['1600000001000', 'bob'],
        ],
      )
      const application = (await (await fetch(`${url}/applications/shop`)).json()) as {
        attributes: JsonObject
      }
      assert.deepEqual(application.attributes['permissions'], { READ: ['ops'] })
      const ofShop = (await (
        await fetch(`${url}/applications/shop/history`)
      ).json()) as JsonObject[]
      assert.deepEqual(
        ofShop.map(({ email }) => email),
        ['shop@example.com', 'old@example.com'],
      )
      const pipelines = (await (
        await fetch(`${url}/applications/shop/pipelineConfigs`)
      ).json()) as JsonObject[]
      assert.deepEqual(pipelines.find(({ id }) => id === 'a/b')?.['x-team'], { any: [1, null] })
      const refused = await move('two', '--from', file)
      assert.equal(refused.status, 1)
      assert.match(refused.errors, /Another Fairlead uses the data directory/)
      const third = await move('three', '--from', url)
      assert.equal(third.status, 0, third.errors)
      assert.match(third.out, /^pipelines: 2 new$/m)
      assert.match(third.errors, /A Gate shows neither service accounts/)
    },
  )

  await t.test('a file that is cut off moves nothing', async () => {
    truncateSync(file, readFileSync(file).length - 20)
    const { status, out, errors } = await move('four', '--from', file)
    assert.equal(status, 1)
    assert.equal(out, '')
    assert.match(errors, /is damaged/)
  })
})
