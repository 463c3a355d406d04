/**
 * The quick start of the README, the commands of the guide and the recipes do what they say, word for word: with bash, curl, sed and
 * grep (one recipe needs jq), by a user without special rights, and with whatever Node the machine has.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { runInBash } from './support/bash.ts'
import { runCli } from './support/cli.ts'
import { claimPorts, freePort } from './support/free-port.ts'
import { apiFunction } from './support/guide.ts'
import { startInstance } from './support/instance.ts'
import { createFolder, removeFolder } from './support/temporary-folder.ts'
import { runInTerminal } from './support/terminal.ts'

const root = resolve(import.meta.dirname, '..')

const byScript = 'docs/guides/by-script.md'

/** Root becomes somebody without rights, unless that user cannot read the clone. */
const strangerId = 65_534
const canBecomeStranger =
  process.getuid?.() === 0 &&
  spawnSync('test', ['-r', join(root, 'package.json')], { uid: strangerId }).status === 0
const uid = canBecomeStranger ? strangerId : undefined

/** As on the machine of a newcomer, who has not run an npm script: npm runs with the Node of the machine. */
const newcomer = {
  PATH: (process.env['PATH'] ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':'),
  NODE_COMPILE_CACHE: '',
}

test(`the quick start${uid === undefined ? '' : ' without rights'} ends with a succeeded pipeline`, async (t) => {
  const [install = '', own = ''] = blocksOf('README.md', 'Quick start')
  const [use = ''] = blocksOf(byScript, 'Quick start')
  const [clean = '', start = ''] = install.split('\n')
  assert.equal(clean, 'npm ci')
  const front = {
    LOCAL_ACCOUNTS_0_NAME: 'local',
    LOCAL_ACCOUNTS_0_FRONT_HTTP: `${await freePort()}`,
  }
  const { port, env } = await startInstance(t, {
    command: start,
    cwd: root,
    uid,
    env: { ...newcomer, ...front, LOCAL_ACCOUNTS_0_FRONT_HTTPS: `${await freePort()}` },
  })
  const commands = use.replaceAll('localhost:8084', `127.0.0.1:${port}`)

  await t.test('with a wrong password they end, and say why', async () => {
    const wrong = commands.replace(/^PASSWORD=.*/, 'PASSWORD=battery-staple')
    assert.notEqual(wrong, commands)
    await assert.rejects(run(t, wrong), /The user name or the password is wrong/)
  })

  const output = await run(t, commands)
  assert.equal(output.trim().split('\n').at(-1), '"status":"SUCCEEDED"')

  await t.test(
    'app-scenario 139: five commands without JSON serve an app of ones own',
    async (t) => {
      const typed = own
        .split('\n')
        .flatMap((line) => /^fairlead (.*?) *(?:#|$)/.exec(line)?.[1] ?? [])
      const all = [...install.split('\n'), ...typed]
      assert.ok(all.length <= 5 && !/[{}]/.test(install + own), all.join('\n'))
      const home = createFolder('newcomer')
      t.after(() => removeFolder(home))
      const shop = join(home, 'shop')
      mkdirSync(shop)
      writeFileSync(join(shop, 'index.html'), 'Hello from the shop')
      let printed = ''
      for (const line of typed) {
        const words = line.replace('localhost:8084', `127.0.0.1:${port}`).split(' ')
        const options = { env: { HOME: home }, cwd: shop }
        if (words[0] === 'login') {
          const terminal = runInTerminal(words, options)
          await terminal.read(/Password of admin/)
          terminal.type('correct-horse-battery\r')
          assert.equal(await terminal.ended, 0, terminal.shown())
        } else {
          const { code, stdout, stderr } = await runCli(words, options)
          assert.equal(code, 0, stderr)
          printed = stdout
        }
      }
      const [, host = '', at] = /http:\/\/([\w.]+):(\d+) serves/.exec(printed) ?? []
      const request = get({ host: '127.0.0.1', port: at, headers: { host }, agent: false })
      const [answer] = (await once(request, 'response')) as [IncomingMessage]
      assert.equal(await text(answer), 'Hello from the shop')
    },
  )

  await t.test('a deployment serves the first version, then the second', async () => {
    const [deploy = ''] = blocksOf(byScript, 'Deploy something')
    const [definitions = ''] = /^PASSWORD=.*?; }$/ms.exec(commands) ?? []
    // Those of the default account are not for load balancers.
    const { last: balancer } = await claimPorts(t)
    const there = deploy
      .replaceAll('localhost:8080', `127.0.0.1:${balancer}`)
      .replaceAll('"externalPort": 8080', `"externalPort": ${balancer}`)
    const printed = await run(t, `set -e\n${definitions}\n${there}`).catch(async (error: Error) => {
      throw new Error(
        `${error.message}\n${await run(t, `${definitions}\napi /applications/web/serverGroups`)}`,
      )
    })
    assert.match(printed, /Hello from version 1, port \d+\.\nHello from version 2, port \d+\.\n$/)
  })

  await t.test('the recipes print what they announce, one after the other', async () => {
    const recipes = recipesOf('docs/guides/recipes.md')
    const script = recipes
      .map(({ commands, heading }) => `echo '## ${heading}'\n${commands}`)
      .join('\n')
    const printed = await run(
      t,
      `set -e\n${script}`.replaceAll('localhost:8084', `127.0.0.1:${port}`),
    )
    assert.equal(printed, recipes.map(({ heading, prints }) => `## ${heading}\n${prints}`).join(''))
  })

  await t.test('the commands of the guide add users and change passwords meanwhile', async () => {
    const [block = ''] = blocksOf('docs/guides/run-standalone.md', 'Users')
    const [alias = '', ...lines] = block.split('\n')
    assert.ok(readFileSync(join(root, 'README.md'), 'utf8').includes(`\n${alias}\n`))
    const outputs: string[] = []
    for (const line of lines)
      outputs.push(await run(t, `shopt -s expand_aliases\n${alias}\n${line} <<< new-password`, env))
    assert.match(
      outputs.join(''),
      /^user kim created with deployers: [\s\S]*\nuser guest created with readers: [\s\S]*\nadmin\tadmins\nguest\treaders\nkim\tdeployers\n$/,
    )
    for (const user of ['kim', 'admin']) {
      const asked = await fetch(`http://127.0.0.1:${port}/auth/user`, {
        headers: { authorization: `Basic ${btoa(`${user}:new-password`)}` },
      })
      assert.equal(((await asked.json()) as { username: string }).username, user)
    }
  })
})

test('the request of the quick start fails at a redirect', async (t) => {
  const redirecting = createServer((_request, response) =>
    response.writeHead(302, { location: '/login' }).end(),
  )
  await new Promise<void>((listening) => redirecting.listen(0, '127.0.0.1', listening))
  try {
    const { port } = redirecting.address() as AddressInfo
    await assert.rejects(
      run(t, `${apiFunction().replace('localhost:8084', `127.0.0.1:${port}`)}\napi /version`),
    )
  } finally {
    redirecting.close()
  }
})

test('every example says how it is started, in a clone', () => {
  for (const file of globSync('examples/*.yml', { cwd: root })) {
    assert.ok(
      readFileSync(join(root, file), 'utf8').includes(`#   npm start -- --config ${file}\n`),
      file,
    )
  }
})

/** The sections of a page that have commands, each with what the block after them says that they print. */
function recipesOf(file: string): { heading: string; commands: string; prints: string }[] {
  const sections = readFileSync(join(root, file), 'utf8').split(/^## /m)
  return sections.flatMap((section) => {
    const [heading = ''] = section.split('\n')
    const [, commands] = /```bash\n(.*?)\n```/s.exec(section) ?? []
    const [, prints = ''] = /```text\n(.*?)```/s.exec(section) ?? []
    return commands === undefined ? [] : [{ heading, commands, prints }]
  })
}

/** The bash blocks between a heading and the next one. */
function blocksOf(file: string, heading: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const section = new RegExp(`^## ${heading}\n(.*?)^## `, 'ms').exec(text)?.[1] ?? ''
  return [...section.matchAll(/```bash\n(.*?)\n```/gs)].map(([, block = '']) => block)
}

/** @throws {Error} with what the commands printed, when they fail */
async function run(
  t: TestContext,
  commands: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const options = { timeout: 60_000, cwd: root, env, ...(uid !== undefined && { uid, gid: uid }) }
  const { code, output, errors } = await runInBash(t, `set -o pipefail\n${commands}`, options)
  if (code !== 0) throw new Error(`${output}\n${errors}`)
  return output
}
