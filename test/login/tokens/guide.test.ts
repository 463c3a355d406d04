/** The guide about API tokens, followed literally: its configurations and commands are used as they stand, on a running instance. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { parse } from 'yaml'
import { describeFailure, runCommand } from '../../../bin/fairlead.ts'
import { openUsers } from '../../../packages/gateway/login/form/users.ts'
import { type BashResult, runInBash } from '../../support/bash.ts'
import { blocksOf, readGuide } from '../../support/guide.ts'
import { program } from '../../support/program.ts'
import { createHome, startServe } from '../../support/serve.ts'

const guide = readGuide('api-tokens')

test('every command of the guide does what the guide says', async (t) => {
  const [create = '', use = '', account = '', replace = '', withPassword = ''] = blocksOf(
    guide,
    'bash',
  )
  const home = createHome(t)
  const settings = Object.assign(
    { anonymous: { enabled: false } },
    ...blocksOf(guide, 'yaml').map((block) => parse(block) as object),
  )
  const env = { FAIRLEAD_ADMIN_PASSWORD: 'correct horse' }
  const url = await startServe(t, settings, { home, embedded: true, env }).listening
  const run = (commands: string, variables: Record<string, string> = {}): Promise<BashResult> =>
    inBash(
      t,
      commands
        .replaceAll('http://localhost:8084', url)
        .replace('--user alice ', '--user alice:battery-staple '),
      home,
      variables,
    )
  const status = async (token: string) =>
    (await fetch(`${url}/version`, { headers: { 'x-spinnaker-token': token } })).status

  await run('echo battery-staple | fairlead user add alice --role developers')
  const created = JSON.parse((await run(create)).output) as Record<string, unknown>
  assert.deepEqual(
    [created['name'], created['principalId'], created['applications']],
    ['ci', 'alice', ['web']],
  )
  const token = String(created['token'])
  assert.match((await run(use, { TOKEN: token })).output, /"version"/)

  const ofAccount = (await run(account)).output.trim()
  assert.match(ofAccount, /^spk_\w{47}$/)
  const user = await fetch(`${url}/auth/user`, {
    headers: { authorization: `Bearer ${ofAccount}` },
  })
  assert.equal(((await user.json()) as { username: string }).username, 'ci')

  const id = String(created['id'])
  const [list = '', rotate = '', revoke = ''] = replace.trim().split('\n')
  assert.ok((await run(list)).output.includes(`${id}\tci\talice`))
  const rotated = (await run(rotate, { ID: id })).output.trim()
  assert.deepEqual([await status(token), await status(rotated)], [200, 200])
  await run(revoke, { ID: id })
  assert.deepEqual([await status(token), await status(rotated)], [401, 401])

  const again = JSON.parse((await run(create)).output) as Record<string, unknown>
  const kept = await run('echo battery-staple | fairlead user passwd alice')
  assert.match(kept.output, /1 API token of the user still count; to end them, add --revoke-tokens/)
  assert.equal(await status(String(again['token'])), 200)
  assert.match(
    (await run(withPassword.replace('fairlead', 'echo battery-staple | fairlead'))).output,
    /1 API token revoked/,
  )
  assert.equal(await status(String(again['token'])), 401)
  assert.equal((await run('fairlead token list --user ALICE')).output, '')

  const random = rotated.slice(4, -6)
  assert.deepEqual([random.length, fromBase62(rotated.slice(-6))], [41, crc32(random)])
})

test('mistyped options create no token', async (t) => {
  const home = createHome(t)
  const dataDir = join(home, 'data')
  const users = openUsers(dataDir)
  await users.add('alice', 'battery-staple', [])
  users.close()
  const config = join(home, 'gate.yml')
  writeFileSync(config, JSON.stringify({ data: { dir: dataDir } }))
  for (const wrong of [
    'create ci --user alice --readonly',
    'create ci --user bob',
    'create ci --user alice --operation nothing',
    'create ci --user alice --days soon',
    'create ci --user alice --service-account ci',
    'create ci --service-account nobody',
    'create ci',
    'create --user alice',
    'revoke unknown',
  ]) {
    const output = t.mock.method(process.stdout, 'write', () => true)
    const refused = await runCommand(['token', ...wrong.split(' '), '--config', config]).then(
      () => undefined,
      (error: unknown) => describeFailure(error),
    )
    output.mock.restore()
    assert.equal(output.mock.callCount(), 0, wrong)
    assert.ok(
      refused !== undefined && refused.status !== 0 && !refused.text.includes('    at '),
      `${wrong}: ${refused?.text}`,
    )
  }
  assert.equal((await inBash(t, `fairlead token list --config ${config}`, home)).output, '')
})

function inBash(
  t: TestContext,
  commands: string,
  home: string,
  variables: Record<string, string> = {},
): Promise<BashResult> {
  const env = { ...process.env, HOME: home, FAIRLEAD_DATA_DIR: join(home, 'data'), ...variables }
  const settings = join(home, 'gate-under-test.yml')
  const script = `fairlead() { '${process.execPath}' '${program}' "$@" $CONFIG; }
    [ -e '${settings}' ] && CONFIG='--config ${settings}'
    ${commands}`
  return runInBash(t, script, { cwd: home, env })
}

function fromBase62(text: string): number {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  return [...text].reduce((value, character) => value * 62 + alphabet.indexOf(character), 0)
}
