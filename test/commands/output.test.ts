import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { program } from '../support/program.ts'

const run = promisify(execFile)

test('a command whose output nobody reads to the end says nothing about that', async () => {
  const line = `set -o pipefail; '${process.execPath}' '${program}' openapi | head -c 20`
  const { stdout, stderr } = await run('bash', ['-c', line], { cwd: `${import.meta.dirname}/../..` })
  assert.match(stdout, /openapi/)
  assert.equal(stderr, '')
})

const misused = [['--confg', 'gate.yml'], ['--config'], ['gate.yml']]
for (const command of ['check', 'serve']) {
  for (const args of misused) {
    test(`${command} ${args.join(' ')} is misuse, and nothing is read`, async () => {
      const started = run(process.execPath, [program, command, ...args], { cwd: `${import.meta.dirname}/../..` })
      await assert.rejects(started, (error: { code: number; stdout: string; stderr: string }) => {
        assert.equal(error.code, 2)
        assert.equal(error.stdout, '')
        assert.match(error.stderr, new RegExp(args[0]?.replace('--', '') ?? ''))
        return true
      })
    })
  }
}

const optionsOf = { user: '--role ROLE', token: '--read-only', audit: '--expect HASH', doctor: '--public-url URL' }
for (const [command, option] of Object.entries(optionsOf)) {
  test(`${command} --help shows the options of that command`, async () => {
    const { stdout } = await run(process.execPath, [program, command, '--help'], {
      cwd: `${import.meta.dirname}/../..`,
    })
    assert.match(stdout, new RegExp(option))
  })
}

test('explain --help shows the options of both explanations', async () => {
  const { stdout } = await run(process.execPath, [program, 'explain', 'access', '--help'], {
    cwd: `${import.meta.dirname}/../..`,
  })
  assert.match(stdout, /fairlead explain login/)
  assert.match(stdout, /fairlead explain access/)
})

const misusedUsers = [
  { args: ['add', 'kim', '--roles', 'dev'], says: /Unknown option '--roles'/ },
  { args: ['add', 'kim', 'dev'], says: /"dev" is too much/ },
  { args: ['add'], says: /name of the user/ },
  { args: ['ad', 'kim'], says: /add, passwd, roles/ },
]
for (const { args, says } of misusedUsers) {
  test(`user ${args.join(' ')} is misuse, and no user is made without the roles that were meant`, async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-user-'))
    t.after(() => rmSync(dataDir, { recursive: true }))
    const started = run(process.execPath, [program, 'user', ...args], {
      cwd: `${import.meta.dirname}/../..`,
      env: { ...process.env, FAIRLEAD_DATA_DIR: dataDir },
    })
    started.child.stdin?.end('correct-horse-battery')
    await assert.rejects(started, (error: { code: number; stderr: string }) => {
      assert.equal(error.code, 2)
      assert.match(error.stderr, says)
      return true
    })
    assert.deepEqual(readdirSync(dataDir), [])
  })
}
