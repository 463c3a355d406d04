/** Deployments of a folder that fail or are slow: the version before serves, and the reason is named. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type CliRun, runCli } from '../support/cli.ts'
import { startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { startUserProxy } from '../support/user-proxy.ts'

const program = (name: string, { port = 'process.env.PORT', status = 200, delayMs = 0 } = {}) => `
const server = require('node:http').createServer((request, response) => {
  response.writeHead(${status}, { location: 'https://elsewhere.example/' }).end('${name}')
})
setTimeout(() => server.listen(${port}, process.env.HOST), ${delayMs})
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

test('deployments that fail', async (t) => {
  const port = await freePort()
  const front = { http: port, https: await freePort() }
  const fairlead = await startDeployments(t, { hasThread: true, front })
  const folder = createFolder('app')
  t.after(() => removeFolder(folder))
  mkdirSync(join(folder, '.fairlead'))
  const write = (server: string, { start = '12s', status = 200 } = {}) => {
    const health = `{ path: /, status: ${status}, interval: 1s, start: ${start} }`
    const service = `{ hosts: [site.example], health: ${health} }`
    const file = `application: site\naccount: dev\nservices:\n  web: ${service}\n`
    writeFileSync(join(folder, '.fairlead/app.yml'), file)
    writeFileSync(join(folder, 'server.js'), server)
  }
  writeFileSync(join(folder, 'package.json'), '{"scripts":{"start":"node server.js"}}')
  const env = { FAIRLEAD_URL: await startUserProxy(t, fairlead.url()), FAIRLEAD_TOKEN: 'alice' }
  const cli = (...args: string[]): Promise<CliRun> => runCli(args, { env, cwd: folder })
  const page = async () => {
    const asked = get({ host: '127.0.0.1', port, headers: { host: 'site.example' }, agent: false })
    const answer = await new Promise<Parameters<typeof text>[0]>((resolve, reject) =>
      asked.on('response', resolve).on('error', reject),
    )
    return text(answer)
  }
  async function fails(server: string, reason: RegExp, options = {}): Promise<void> {
    write(server, options)
    const { code, stderr } = await cli('deploy')
    assert.equal(code, 1, stderr)
    assert.match(stderr, reason)
    assert.equal(await page(), 'slow')
  }

  await t.test(
    'app-scenario 44: a slow start succeeds within its time, and fails after it',
    async () => {
      write(program('slow', { delayMs: 1500 }), { start: '60s' })
      const { code, stderr } = await cli('deploy')
      assert.equal(code, 0, stderr)
      assert.equal(await page(), 'slow')
      await fails(
        program('late', { delayMs: 600_000 }),
        /health: \{start: 120s\}|nothing listens/,
        {
          start: '2s',
        },
      )
    },
  )

  await t.test('app-scenario 42: the port that a program opens instead is named', async () => {
    const other = await freePort()
    await fails(
      program('other', { port: String(other) }),
      new RegExp(`PORT, which was \\d+; it opened ${other}`),
    )
  })

  for (const [status, words] of [
    [301, /answered 301 with "Host: site\.example".*plain HTTP/],
    [404, /answered 404 with "Host: site\.example"/],
    [400, /answered 400 with "Host: site\.example".*ALLOWED_HOSTS/],
  ] as const)
    await t.test(
      `app-scenario 43: a health check with status ${status} is named with its host`,
      () => fails(program('wrong', { status }), words),
    )
})
