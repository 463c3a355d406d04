/** The guide from a commit to a channel, followed word for word. */
import assert from 'node:assert/strict'
import { readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInBash } from '../support/bash.ts'
import { claimPorts } from '../support/free-port.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { type Instance, startInstance } from '../support/instance.ts'
import { program } from '../support/program.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

const root = resolve(import.meta.dirname, '../..')
const password = 'correct-horse-battery'
const guide = readGuide('from-commit-to-channel')
const [functions = ''] = blocksOf(readGuide('recipes'), 'bash')
/** Of one command; all of them together take ten seconds of processor time. */
const longestMs = 120_000

interface Channel {
  readonly port: number
  readonly messages: string[]
}

/** In place of the program of the guide, which prints what it gets. */
async function startChannel(t: TestContext): Promise<Channel> {
  const messages: string[] = []
  const server = createServer(async (request, response) => {
    messages.push(Buffer.concat(await request.toArray()).toString())
    response.end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, messages }
}

const isOf = (name: string) => (message: string) => message.includes(name)

test('the guide from a commit to a channel works', async (t) => {
  const folder = createFolder('commit-to-channel')
  t.after(() => removeFolder(folder))
  symlinkSync(join(root, 'examples'), join(folder, 'examples'))
  const channel = await startChannel(t)
  const { last: balancer } = await claimPorts(t)
  const [
    prepare = '',
    serve = '',
    print = '',
    create = '',
    push = '',
    judge = '',
    rollBack = '',
    breakIt = '',
    explain = '',
  ] = blocksOf(guide, 'bash')
  assert.match(print, /listen\(8085/)
  const [declared = ''] = blocksOf(guide, 'yml')
  assert.equal(
    readFileSync(join(root, 'examples/commit-to-channel/shop/.fairlead/build.yml'), 'utf8'),
    declared,
  )

  let [port, instance]: [number, Instance | undefined] = [0, undefined]
  /** What a command waits for shows there. */
  const readState = async () => {
    if (instance === undefined) return ''
    const headers = { authorization: `Basic ${btoa(`admin:${password}`)}` }
    const signal = AbortSignal.timeout(60_000)
    const read = (path: string) =>
      fetch(`${instance?.url}/applications/shop/${path}`, { headers, signal })
        .then((answer) => answer.text())
        .catch(String)
    const state = await Promise.all(['pipelines', 'serverGroups', 'triggerEvents'].map(read))
    return [...state, instance.log()].join('\n')
  }
  const run = async (commands: string) => {
    const here = [functions, commands]
      .join('\n')
      .replaceAll('localhost:8084', `localhost:${port}`)
      .replaceAll('localhost:8080', `localhost:${balancer}`)
      .replaceAll('"externalPort": 8080', `"externalPort": ${balancer}`)
      .replaceAll('| api /pipelines', `| sed 's/:8085/:${channel.port}/' | api /pipelines`)
      .replaceAll('|\n  api /pipelines', `| sed 's/:8085/:${channel.port}/' | api /pipelines`)
    const { code, output, errors } = await runInBash(t, `set -eo pipefail\n${here}`, {
      cwd: folder,
      timeout: longestMs,
    })
    if (code !== 0) assert.fail([commands, output, errors, await readState()].join('\n'))
    return output
  }

  await run(prepare)
  const [, config = ''] = /npm start -- --config (\S+)\n$/.exec(serve) ?? []
  instance = await startInstance(t, {
    command: `SHOP_REPOSITORY=$PWD/shop.git exec '${process.execPath}' '${program}' serve --config ${config}`,
    cwd: folder,
    env: { FAIRLEAD_ADMIN_PASSWORD: password },
  })
  port = instance.port
  await run('git -C shop.git config fairlead.address http://localhost:8084')
  await run(create)
  assert.match(await run(push), /^Hello from version 1$/m)
  assert.match(await run(judge), /^SUCCEEDED$/m)
  await waitUntil(() => channel.messages.some(isOf('Keep it?')), 'the message of the judgment')
  const [judgment = ''] = channel.messages.filter(isOf('Keep it?'))
  assert.match(judgment, /\/console\/executions\/\w+/)

  const pushing = `${push.split(`\npush '`)[0]}\n${judge.split('\njudge ')[0]}\n`
  const rolled = await run(pushing + rollBack)
  assert.match(rolled, /version 2.*SUCCEEDED.*version 1\n$/s)
  const failed = await run(pushing + breakIt)
  assert.match(failed, /1 of 1 tests failed.*version 1\n$/s)
  await waitUntil(
    () => channel.messages.some(isOf('pipeline.failed')),
    'the message of the failure',
  )
  assert.match(
    await run(pushing + explain),
    /The branch \\"experiment\\" does not match \\"main\\"/,
  )
})
