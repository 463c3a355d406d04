/** The quick start of the README does what it says, command by command, with nothing but bash, curl, sed and grep. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { startInstance } from './support/instance.ts'

const root = resolve(import.meta.dirname, '..')

test('the commands of the quick start take a newcomer to a pipeline that has succeeded', async (t) => {
  const [install = '', use = ''] = quickStart()
  const [clean = '', start = ''] = install.split('\n')
  assert.equal(clean, 'npm ci')
  const { port } = await startInstance(t, { command: start, cwd: root })
  const commands = use.replaceAll('localhost:8084', `127.0.0.1:${port}`)

  await t.test('with a wrong password they end, and say why', async () => {
    const wrong = commands.replace(/^PASSWORD=.*/, 'PASSWORD=battery-staple')
    assert.notEqual(wrong, commands)
    await assert.rejects(runInBash(wrong), /The user name or the password is wrong/)
  })

  const output = await runInBash(commands)
  assert.equal(output.trim().split('\n').at(-1), '"status":"SUCCEEDED"')
})

test('the command of the quick start that asks fails at a redirect', async () => {
  const [, use = ''] = quickStart()
  const redirecting = createServer((_request, response) => response.writeHead(302, { location: '/login' }).end())
  await new Promise<void>((listening) => redirecting.listen(0, '127.0.0.1', listening))
  try {
    const { port } = redirecting.address() as AddressInfo
    const [definition = ''] = /^api\(\).*?; }$/ms.exec(use) ?? []
    await assert.rejects(runInBash(`${definition.replace('localhost:8084', `127.0.0.1:${port}`)}\napi /version`))
  } finally {
    redirecting.close()
  }
})

/** The bash blocks between the heading and the next one. */
function quickStart(): string[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const section = /^## Quick start\n(.*?)^## /ms.exec(readme)?.[1] ?? ''
  return [...section.matchAll(/```bash\n(.*?)\n```/gs)].map(([, block = '']) => block)
}

function runInBash(commands: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('bash', ['-c', `set -o pipefail\n${commands}`], { timeout: 60_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${error.message}\n${stdout}\n${stderr}`))
    })
  })
}
