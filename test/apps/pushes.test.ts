/** Pushes to the repository of an app deploy it; other branches get previews. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type JsonObject, objectsOf } from '../../packages/base/json/values.ts'
import { runCli } from '../support/cli.ts'
import { needs } from '../support/debian.ts'
import { startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { startGitServer } from '../support/git-server.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitFor } from '../support/wait-until.ts'

const appFile = `application: shop
account: dev
preview: { hosts: '{branch}.preview.example' }
secrets: [TOKEN]
attach: { cache: redis }
services:
  web: { hosts: [shop.example], health: /, volumes: [{ name: data, shared: true, path: /data }] }
`
const program = (word: string) => `
const server = require('node:http').createServer((_, response) => response.end('${word} ' + process.env.TOKEN))
server.listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

test('pushes', async (t) => {
  if (needs(t, 'redis-server') === undefined) return
  const port = await freePort()
  const fairlead = await startDeployments(t, {
    hasThread: true,
    front: { http: port, https: await freePort() },
  })
  const repository = await startGitServer(t)
  const env = {
    FAIRLEAD_URL: await startUserProxy(t, fairlead.url()),
    FAIRLEAD_TOKEN: 'alice',
  }
  const cli = (...args: string[]) => runCli(args, { env, cwd: repository.folder })
  let secret = ''

  /** @returns the runs of the application that it has started, with those that they have started, once they are over */
  async function push(ref: string, body: JsonObject, key = secret): Promise<JsonObject[]> {
    const sent = JSON.stringify({ repository: repository.url, ref, ...body })
    const signature = `sha256=${createHmac('sha256', key).update(sent).digest('hex')}`
    const before = new Set((await runs()).map(({ id }) => id))
    const answer = await fetch(`${fairlead.url()}/webhooks/git/git`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': signature },
      body: sent,
    })
    assert.equal(answer.status, 200, await answer.text())
    if (key !== secret) return (await runs()).filter(({ id }) => !before.has(id))
    return waitFor(
      async () => {
        const started = (await runs()).filter(({ id }) => !before.has(id))
        const isOver = started.length > 0 && started.every(({ endTime }) => endTime !== undefined)
        return isOver ? started : undefined
      },
      () => `the runs of ${sent}`,
    )
  }
  const runs = () => fairlead.read<JsonObject[]>('/applications/shop/pipelines?limit=50')
  const succeeded = (all: readonly JsonObject[]) => {
    const failed = all.filter(({ status }) => status !== 'SUCCEEDED')
    assert.deepEqual(
      failed.flatMap(({ stages }) => objectsOf(stages).map(({ context }) => context)),
      [],
    )
  }

  async function page(host: string): Promise<string> {
    const asked = get({ host: '127.0.0.1', port, headers: { host }, agent: false })
    const answer = await new Promise<Parameters<typeof text>[0]>((resolve, reject) =>
      asked.on('response', resolve).on('error', reject),
    )
    return text(answer)
  }

  await t.test('app-scenario 54: after connect a push does what deploy does', async () => {
    const head = repository.commit({
      '.fairlead/app.yml': appFile,
      'package.json': JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' } }),
      'server.js': program('one'),
      '.env': 'TOKEN=never',
    })
    assert.equal(
      (await cli('secret', 'set', 'TOKEN', '--file', join(repository.folder, '.env'))).code,
      0,
    )
    const deployed = await cli('deploy')
    assert.equal(deployed.code, 0, deployed.stderr)
    const internal = await cli('connect', '--repository', 'http://10.0.0.1/shop.git')
    assert.match(internal.stderr, /must not call 10\.0\.0\.1: it is internal/)
    const other = await cli('connect', '--repository', repository.url, '--branch', 'x')
    assert.match(other.stderr, /no branch x yet/)
    const connected = await cli('connect', '--repository', repository.url, '--output', 'json')
    assert.equal(connected.code, 0, connected.stderr)
    secret = (JSON.parse(connected.stdout) as { secret: string }).secret
    const after = repository.commit({ 'server.js': program('two') })
    succeeded(await push('refs/heads/main', { before: head, after }))
    assert.equal(await page('shop.example'), 'two TOKEN=never')
    const { stdout } = await cli('status')
    assert.match(stdout, new RegExp(`^production +web +2-${after.slice(0, 7)} `, 'm'))
  })

  await t.test(
    'app-scenario 55: a push that is not signed with the secret starts nothing',
    async () => {
      repository.git('checkout', '--quiet', '-b', 'fork')
      const after = repository.commit({ 'server.js': program('fork') })
      assert.deepEqual(await push('refs/heads/fork', { before: after, after }, 'another'), [])
      assert.match(await page('fork.preview.example'), /404|not/i)
      repository.git('checkout', '--quiet', 'main')
    },
  )

  await t.test(
    'app-scenario 56, 124: a branch has a preview, which goes with its database and volumes',
    async () => {
      repository.git('checkout', '--quiet', '-b', 'feature')
      // Where previews run is for the file of the connected branch.
      const own = appFile
        .replace('account: dev', 'account: prod')
        .replace('preview.example', 'example')
      const after = repository.commit({
        '.fairlead/app.yml': own,
        'server.js': program('feature'),
      })
      succeeded(await push('refs/heads/feature', { before: '0'.repeat(40), after }))
      assert.equal(await page('feature.preview.example'), 'feature TOKEN=never')
      assert.equal(await page('shop.example'), 'two TOKEN=never')
      const { stdout } = await cli('status')
      assert.match(stdout, /^preview-feature +web +3-/m)
      const volumes = join(fairlead.dataDir, 'volumes/dev/east')
      const named = ['shop-preview-feature-cache', 'shop-preview-feature-web']
      const there = readdirSync(volumes).filter((name) => named.includes(name))
      assert.deepEqual(there.sort(), named)
      assert.equal((await cli('db', 'connect', 'cache', '--', 'SET', 'a', '1')).stdout, 'OK\n')
      const fresh = await cli('db', 'connect', 'cache', '--env', 'preview-feature', '--', 'DBSIZE')
      assert.equal(fresh.stdout, '0\n', fresh.stderr)

      succeeded(await push('refs/heads/feature', { before: after, after: '0'.repeat(40) }))
      assert.doesNotMatch((await cli('status')).stdout, /feature/)
      assert.doesNotMatch(await page('feature.preview.example'), /feature TOKEN/)
      const left = readdirSync(volumes).filter((name) => named.includes(name))
      assert.deepEqual(left, [])
      const names = (await fairlead.read<JsonObject[]>('/applications/shop/pipelineConfigs')).map(
        ({ name }) => name,
      )
      // A poll may have found the other branch meanwhile.
      const others = names.filter((name) => name !== 'deploy preview-fork').sort()
      assert.deepEqual(others, ['backup cache production', 'deploy production', 'push'])
      assert.equal(await page('shop.example'), 'two TOKEN=never')
    },
  )
})
