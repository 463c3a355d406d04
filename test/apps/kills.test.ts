/** Deployments over kills of the instance and the client, many of them, with releases and volumes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type JsonObject, objectsOf } from '../../packages/base/json/values.ts'
import { startDeployments, visitHost } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { program, sharedEnvironment } from '../support/program.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const releaseRounds = 8
const allRounds = 18

test('apps through kills and many deployments', async (t) => {
  const port = await freePort()
  const front = { http: port, https: await freePort() }
  const fairlead = await startDeployments(t, { isProcess: true, front })
  const folder = createFolder('kills')
  t.after(() => removeFolder(folder))
  const linesOf = (file: string) =>
    existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  // Instances take most of the time of a deployment, and say nothing about releases and numbers.
  const fileWith = (more = '', { services = '', instances = 1 } = {}) => `
application: shop
account: dev
services:
  web: { health: { path: /health, interval: 1s }, hosts: [shop.example], instances: ${instances} }
${services}
${more}`
  let rounds = 0
  const versionOf = (round: number) => (round % 2 === 0 ? '1.0.0' : '1.1.0')

  /** Deploys the other one of two versions. */
  async function start(file = fileWith()): Promise<string> {
    const order = { file, image: `shop:${versionOf(rounds)}` }
    rounds += 1
    const { status, body } = await fairlead.ask('POST', '/apps/shop/deployments', order)
    assert.equal(status, 202, JSON.stringify(body))
    return String((body as JsonObject)['id'])
  }
  const ends = (id: string, status = 'SUCCEEDED') => fairlead.ends(id, status, 'pipelines')
  const serving = async () => {
    const found = await fairlead.read('/apps/shop')
    const [production] = objectsOf(found['environments'])
    return objectsOf(production?.['services']).find(({ name }) => name === 'web')?.['version']
  }

  await t.test(
    `app-scenario 68: a release runs once in each of ${releaseRounds} deployments, over a kill -9 as well`,
    async () => {
      const releases = join(folder, 'releases')
      for (let round = 1; round <= releaseRounds; round++) {
        const isKilled = round === releaseRounds / 2
        const command = `echo once >> ${releases}; sleep ${isKilled ? 2 : 0}`
        const id = await start(fileWith(`release: sh -c "${command}"`, { instances: 0 }))
        if (isKilled) {
          await waitUntil(
            () => linesOf(releases).length === round,
            () => `the release of round ${round}; there were ${linesOf(releases).length}`,
          )
          await fairlead.restart()
        }
        await ends(id)
        assert.equal(linesOf(releases).length, round)
      }
    },
  )

  await t.test(
    'app-scenario 67: a release that takes too long, or is cancelled, leaves the old version',
    async () => {
      await ends(await start())
      const before = await serving()
      const slow = join(folder, 'slow')
      const command = `sh -c "echo $$ >> ${slow}; sleep 1000"`
      await ends(
        await start(fileWith(`release: { command: '${command}', timeout: 2s }`)),
        'TERMINAL',
      )
      assert.equal(await serving(), before)
      const count = linesOf(slow).length
      const id = await start(fileWith(`release: { command: '${command}' }`))
      await waitUntil(() => linesOf(slow).length > count, 'the release')
      await fairlead.ask('PUT', `/pipelines/${id}/cancel`)
      await ends(id, 'CANCELED')
      assert.equal(await serving(), before)
      const running = () => linesOf(slow).filter((pid) => existsSync(`/proc/${pid}`))
      await waitUntil(
        () => running().length === 0,
        () => `the end of the releases ${running()}`,
      )
    },
  )

  await t.test(
    'app-scenario 46: a deployment goes on without its client and over kill -9',
    async () => {
      const app = join(folder, 'app')
      mkdirSync(join(app, '.fairlead'), { recursive: true })
      writeFileSync(join(app, '.fairlead/app.yml'), fileWith('release: sleep 3'))
      const url = await startUserProxy(t, fairlead.url())
      const client = spawn(process.execPath, [program, 'deploy', '--no-build'], {
        cwd: app,
        env: { ...sharedEnvironment, FAIRLEAD_URL: url, FAIRLEAD_TOKEN: 'alice' },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let said = ''
      client.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      const id = await waitFor(
        () => /^Deployment (\w+): /m.exec(said)?.[1],
        () => `the id of the deployment in: ${said}`,
      )
      rounds += 1
      const closed = once(client, 'close')
      client.kill('SIGKILL')
      await closed
      await fairlead.restart()
      await ends(id)
      assert.equal((await visitHost(port, 'shop.example')).status, 200)
    },
  )

  await t.test('app-scenario 71: a volume that is not shared never has two processes', async () => {
    const [lock, second] = [join(folder, 'lock'), join(folder, 'second')]
    // A directory is made by one alone.
    const command = `sh -c "mkdir ${lock} || echo second >> ${second}; trap 'rmdir ${lock}; exit 0' TERM; while :; do sleep 0.1; done"`
    const services = `  store: { command: ${JSON.stringify(command)}, volumes: [{ name: data, path: /data }] }`
    for (let round = 0; round < 3; round++) await ends(await start(fileWith('', { services })))
    await waitUntil(() => existsSync(lock), 'the last process')
    assert.deepEqual(linesOf(second), [])
  })

  await t.test(
    `app-scenario 50: ${allRounds} deployments leave two server groups, and the version for a rollback`,
    async () => {
      while (rounds < allRounds - 1) await ends(await start(fileWith('', { instances: 0 })))
      await ends(await start())
      const groups = await fairlead.cluster('shop-web')
      assert.equal(groups.length, 2, String(groups))
      // Those of ended jobs are kept with their output.
      const folders = () =>
        readdirSync(join(fairlead.dataDir, 'instances')).filter((name) => name.startsWith('i-'))
      await waitUntil(
        () => fairlead.processes().length === 1 && folders().length === 1,
        () => `one process and no former folders: ${fairlead.processes().length}, ${folders()}`,
      )
      const { status, body } = await fairlead.ask('POST', '/apps/shop/rollback?dryRun=true', {})
      assert.deepEqual([status, (body as JsonObject)['to']], [200, versionOf(rounds)])
    },
  )
})
