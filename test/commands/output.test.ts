/** Commands whose arguments are wrong, or whose output is not read, end with one line at most; help names what can be given. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { runCommand } from '../../bin/fairlead.ts'
import { packageVersion } from '../../bin/version.ts'
import { operatorCommands } from '../../packages/cli/operator-commands.ts'
import { program } from '../support/program.ts'

const run = promisify(execFile)
const cwd = join(import.meta.dirname, '../..')

interface Failed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

test('a closed output pipe is no error', async () => {
  const line = `set -o pipefail; '${process.execPath}' '${program}' openapi | head -c 20`
  const { stdout, stderr } = await run('bash', ['-c', line], { cwd })
  assert.match(stdout, /openapi/)
  assert.equal(stderr, '')
})

test('an unwritable output ends a command with one line', {
  skip: !existsSync('/dev/full'),
}, async () => {
  await assert.rejects(
    run('bash', ['-c', `'${process.execPath}' '${program}' version > /dev/full`], { cwd }),
    (error: Failed) => {
      assert.equal(error.code, 1)
      assert.match(
        error.stderr,
        /^Standard output cannot be written: ENOSPC.* Write it to another place\.\n$/,
      )
      return true
    },
  )
})

test('misuse is one line on standard error, and status 2', async () => {
  await assert.rejects(run(process.execPath, [program, 'user', 'ad'], { cwd }), (error: Failed) => {
    assert.equal(error.code, 2)
    assert.equal(error.stdout, '')
    assert.match(
      error.stderr,
      /^There is no command "user ad"\. Did you mean add\? Help: .* user --help\n$/,
    )
    return true
  })
})

const helps: [args: string[], mentions: RegExp, not?: RegExp][] = [
  [['help', 'user'], /--role ROLE/],
  [['serve', '--help'], /Usage: fairlead serve/],
  [['check', '-h'], /Usage: fairlead check/],
  [['doctor', '--help'], /--public-url URL/],
  [['user', 'add', '--help'], /--role ROLE/],
  [['token', 'create', '--help'], /--read-only/],
  [['audit', 'verify', '--help'], /--expect HASH/],
  [['openapi', '--help'], /Usage: fairlead openapi/],
  [['explain', '--help'], /fairlead explain login[\s\S]*fairlead explain access/],
  [['explain', 'access', '--help'], /fairlead explain access/, /explain login/],
  [['explain', 'login', '--help'], /fairlead explain login/, /explain access/],
]
for (const [args, mentions, not = /[\s\S]{4000}/] of helps) {
  test(`"${args.join(' ')}" shows what can be given`, async (t) => {
    const written = t.mock.method(process.stdout, 'write', () => true)
    const status = await runCommand(args)
    const text = written.mock.calls.map((call) => String(call.arguments[0])).join('')
    written.mock.restore()
    assert.match(text, mentions)
    assert.doesNotMatch(text, not)
    assert.match(text, /^Here, fairlead is typed as: \S/m)
    assert.equal(status, 0)
  })
}

for (const option of ['--version', '-v']) {
  test(`${option} prints the version`, async () => {
    const { stdout } = await run(process.execPath, [program, option], { cwd })
    assert.equal(stdout, `${packageVersion()}\n`)
  })
}

for (const name of ['user', 'token']) {
  test(`help and README list every action of ${name}`, async () => {
    const help = `${name} ${operatorCommands[name]?.split(': ')[1]}`
    const { message = '' } = (await runCommand([name]).catch((error: Error) => error)) as Error
    const [, actions = ''] = /There is (.*)\.$/.exec(message) ?? []
    for (const text of [help, readFileSync(join(cwd, 'README.md'), 'utf8')]) {
      assert.match(text, new RegExp(`\\b${name} ${actions.replaceAll(', ', '\\|')}\\b`))
    }
  })
}
