/** Commands whose arguments are wrong, or whose output is not read, end with one line at most; help names what can be given. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { describeFailure, runCommand } from '../../bin/fairlead.ts'
import { program } from '../support/program.ts'

const run = promisify(execFile)
const cwd = join(import.meta.dirname, '../..')

test('a command whose output nobody reads to the end says nothing about that', async () => {
  const line = `set -o pipefail; '${process.execPath}' '${program}' openapi | head -c 20`
  const { stdout, stderr } = await run('bash', ['-c', line], { cwd })
  assert.match(stdout, /openapi/)
  assert.equal(stderr, '')
})

test('misuse is one line on standard error, and status 2', async () => {
  await assert.rejects(run(process.execPath, [program, 'user', 'ad'], { cwd }), (error: Record<string, unknown>) => {
    assert.equal(error['code'], 2)
    assert.equal(error['stdout'], '')
    assert.match(String(error['stderr']), /^There is no command "user ad"\. Did you mean add\? Help: .* user --help\n$/)
    return true
  })
})

const misuses: [args: string[], says: RegExp][] = [
  [['chekc'], /^There is no command "chekc"\. Did you mean check\? Help: \S.* --help$/],
  [['frobnicate'], /^There is no command "frobnicate"\. There is serve, check, doctor, /],
  [['constructor'], /^There is no command "constructor"\. There is serve/],
  [['user'], /^The command is incomplete\. There is add, passwd, roles, .* user --help$/],
  [['user', 'add'], /^Say the name of the user\./],
  [['user', 'add', 'kim', 'dev'], /^One user at a time; "dev" is too much\. Roles are given with --role\./],
  [['user', 'add', 'kim', '--roles', 'dev'], /^There is no option --roles\. Did you mean --role\?/],
  [['user', 'add', 'kim', '--role'], /^The value of --role is missing\./],
  [['user', 'roles', 'kim', '--keep-tokens'], /^--revoke-tokens and --keep-tokens belong to passwd\./],
  [['token', 'mint', 'ci'], /^There is no command "token mint"\. There is create, list, rotate, revoke\./],
  [['token', 'create'], /^Say the name of the token\./],
  [['token', 'create', 'ci', '--readonly'], /^There is no option --readonly\. Did you mean --read-only\?/],
  [['audit', 'verfy'], /^There is no command "audit verfy"\. Did you mean verify\?/],
  [['audit', 'verify'], /^Say which file, --sqlite or --redis\. Help: .* audit --help$/],
  [['explain'], /^The command is incomplete\. There is login, access\./],
  [['explain', 'acess', '--user', 'kim'], /^There is no command "explain acess"\. Did you mean access\?/],
  [['explain', 'access', '--user', 'kim'], /^Say whose access to what, with --user and --operation\./],
  [['explain', 'login'], /^Say what is presented, with one of --user, --token, /],
  [['doctor', '--public-url', 'gate.example'], /^--public-url must be an address such as https:\/\/gate\.example\.com\./],
  [
    ['serve', '--port', '9000'],
    /^There is no option --port\. Settings come from files and from the environment, such as SERVER_PORT=8084\./,
  ],
  [['check', '--confg', 'gate.yml'], /^There is no option --confg\. Did you mean --config\?/],
  [['check', '--config'], /^The value of --config is missing\./],
  [['check', 'gate.yml'], /^"gate\.yml" is too much\. Help: .* check --help$/],
  [['openapi', '--yaml'], /^There is no option --yaml\. Help: .* openapi --help$/],
  [['version', '9'], /^"9" is too much\./],
]
for (const [args, says] of misuses) {
  test(`"${args.join(' ')}" is misuse, and nothing is written`, async (t) => {
    const dataDir = useDataDir(t)
    const { status, text } = await failureOf(args)
    assert.match(text, says)
    assert.ok(!text.includes('\n'), text)
    assert.equal(status, 2)
    assert.deepEqual(readdirSync(dataDir), [])
  })
}

const helps: [args: string[], mentions: RegExp, not?: RegExp][] = [
  [['--help'], /fairlead <command>/],
  [['help', 'user'], /--role ROLE/],
  [['serve', '--help'], /Usage: fairlead serve/],
  [['check', '-h'], /Usage: fairlead check/],
  [['doctor', '--help'], /--public-url URL/],
  [['user', 'add', '--help'], /--role ROLE/],
  [['token', 'create', '--help'], /--read-only/],
  [['audit', 'verify', '--help'], /--expect HASH/],
  [['openapi', '--help'], /Usage: fairlead openapi/],
  [['version', '--help'], /Usage: fairlead version/],
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

async function failureOf(args: readonly string[]): Promise<{ status: number; text: string }> {
  return runCommand(args).then(
    (status) => assert.fail(`it ended with ${status}`),
    (error: unknown) => describeFailure(error),
  )
}

/** An empty one. */
function useDataDir(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-output-'))
  const before = process.env['FAIRLEAD_DATA_DIR']
  process.env['FAIRLEAD_DATA_DIR'] = dataDir
  t.after(() => {
    if (before === undefined) delete process.env['FAIRLEAD_DATA_DIR']
    else process.env['FAIRLEAD_DATA_DIR'] = before
    rmSync(dataDir, { recursive: true })
  })
  return dataDir
}
