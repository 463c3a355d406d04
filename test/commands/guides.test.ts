/** The guides about configuration and about running in front of Spinnaker: their files and commands, used as they stand. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type BashResult, runInBash } from '../support/bash.ts'
import { freePort } from '../support/free-port.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { program, sharedEnvironment } from '../support/program.ts'
import { createHome } from '../support/serve.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitFor } from '../support/wait-until.ts'

/** `fairlead` is the program under test, in the process of the shell: both end with the test. */
function inShell(t: TestContext, home: string, lines: string): Promise<BashResult> {
  const env = { ...sharedEnvironment, HOME: home, FAIRLEAD_DATA_DIR: join(home, 'data') }
  return runInBash(
    t,
    `fairlead() { exec '${process.execPath}' '${program}' "$@" 2>&1; }\n${lines}`,
    { cwd: home, env },
  )
}

function write(home: string, file: string, text: string): void {
  mkdirSync(dirname(join(home, file)), { recursive: true })
  writeFileSync(join(home, file), text)
}

test('the small example is valid; its errors are found', async (t) => {
  const home = createHome(t)
  const [example = ''] = blocksOf(readGuide('configure'), 'yaml')
  const [check = ''] = blocksOf(readGuide('configure'), '')
  const [, file = ''] = /^# (\S+)\n/.exec(example) ?? []
  write(home, file, example)
  const sound = await inShell(t, home, check)
  assert.equal(sound.code, 0, sound.output)
  for (const line of [
    'The configuration is in order.',
    'Listens on: 0.0.0.0:8084',
    '  orca: http://orca.example:8083',
  ])
    assert.ok(sound.output.includes(line), sound.output)

  write(home, file, example.replace('forward-headers-strategy', 'forward-header-strategy'))
  assert.equal((await inShell(t, home, check)).code, 0)
  const wrong = await inShell(t, home, `${check.trim()} --strict`)
  assert.equal(wrong.code, 1)
  assert.match(
    wrong.output,
    /config\/fairlead\.yml:4: .*did you mean server\.forward-headers-strategy\?/,
  )
})

test('the services of a Spinnaker are checked and served', async (t) => {
  const home = createHome(t)
  const view = {
    name: 'user',
    admin: false,
    accounts: [],
    applications: [],
    roles: [],
    serviceAccounts: [],
  }
  const services = await startUpstream(t, ({ path }) => {
    if (path === '/health') return { status: 'UP' }
    return path.startsWith('/authorize/') ? view : []
  })
  const [addresses = ''] = blocksOf(readGuide('run-in-front-of-spinnaker'), 'yaml')
  const [check = '', doctor = '', start = ''] = blocksOf(readGuide('run-in-front-of-spinnaker'), '')
  const users = 'spring.security.user: { name: user, password: password }\n'
  write(
    home,
    'config/gate.yml',
    addresses.replaceAll(/http:\/\/spin-[\w:-]+/g, services.url) + users,
  )

  const checked = await inShell(t, home, check)
  assert.equal(checked.code, 0, checked.output)
  for (const name of ['clouddriver', 'echo', 'fiat', 'front50', 'igor', 'orca', 'rosco'])
    assert.ok(checked.output.includes(`${name}: ${services.url}`), checked.output)
  const examined = await inShell(t, home, doctor)
  assert.match(examined.output, /clouddriver/)

  const port = await freePort()
  const [serve = '', ask = ''] = start.replaceAll('8085', String(port)).trim().split('\n')
  let ended: BashResult | undefined
  void inShell(t, home, serve).then((ran) => {
    ended = ran
  })
  const answered = await waitFor(async () => {
    assert.equal(ended, undefined, 'it serves')
    const { code, output } = await inShell(t, home, ask.replace('curl', 'curl --silent --fail'))
    return code === 0 ? output : undefined
  }, 'the answer to curl')
  assert.equal(answered, '[]')
})
