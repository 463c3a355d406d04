/** The guide about doctor and explain, followed step by step with the commands themselves. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { blocksOf, readGuide } from '../support/guide.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { program, sharedEnvironment } from '../support/program.ts'

const guide = readGuide('doctor')
const blocks = (language: string) => blocksOf(guide, language)

interface Result {
  readonly status: number
  readonly output: string
  readonly errors: string
}

function run(cwd: string, args: readonly string[], input = ''): Promise<Result> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { cwd, env: { ...sharedEnvironment, HOME: cwd, NODE_NO_WARNINGS: '1' }, timeout: 300_000 },
      (error, output, errors) =>
        done({ status: error === null ? 0 : Number(error.code), output, errors }),
    )
    child.stdin?.end(input)
  })
}

/** A folder with the configuration of the guide, and the address of its provider. */
async function follow(t: TestContext, more = ''): Promise<string> {
  const { url } = await startIdentityProvider(t)
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-guide-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(
    join(folder, 'fairlead.yml'),
    `${(blocks('yaml')[0] ?? '').replace('https://idp.example.com', url)}${more}`,
  )
  return folder
}

function argsOf(command: string): string[] {
  return command.trim().split(' ').slice(1)
}

test('sections 1 and 2: addresses first, then the balancer', async (t) => {
  const [command = ''] = blocks('bash')
  const [addresses = '', problem = ''] = blocks('text')
  const before = await run(await follow(t), argsOf(command))
  assert.ok(before.output.startsWith(addresses), before.output + before.errors)
  assert.ok(before.output.includes(problem), before.output)
  assert.equal(before.status, 1)
  const after = await run(await follow(t, blocks('yaml')[1]), [...argsOf(command), '--json'])
  const { verdict, findings } = JSON.parse(after.output) as {
    verdict: string
    findings: { subject: string; verdict: string }[]
  }
  const complete = findings.filter(({ subject }) => subject.startsWith('Balancer')).at(-1)
  assert.equal(complete?.verdict, 'ok')
  assert.equal(after.status, verdict === 'problem' ? 1 : 0)
  assert.ok(!after.output.includes('s3cret'))
})

test('section 3: claims of a provider are judged as shown', async (t) => {
  const folder = await follow(t)
  writeFileSync(join(folder, 'alice.json'), blocks('json')[0] ?? '')
  const { output, status } = await run(folder, argsOf(blocks('bash')[2] ?? ''))
  assert.ok(output.includes(blocks('text')[2] ?? '-'), output)
  assert.equal(status, 1)
})

test('section 3: users, with a password on standard input or without', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-guide-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await run(folder, ['user', 'add', 'alice', '--role', 'dev'], 'correct horse\n')
  const [look = '', tried = ''] = (blocks('bash')[1] ?? '').trim().split('\n')
  const found = await run(folder, argsOf(look))
  assert.match(found.output, /Let in as alice\n[\s\S]*Roles: dev \(login by form\)/)
  assert.equal((await run(folder, argsOf(tried), 'correct horse\n')).status, 0)
  const refused = await run(folder, argsOf(tried), 'wrong horse\n')
  assert.equal(refused.status, 1)
  assert.match(refused.output, /no {3}the password is right/)
  assert.ok(!refused.output.includes('wrong horse'))
})

const misuses = [
  [['explain'], /The command is incomplete/],
  [['explain', 'login'], /Name the credentials/],
  [['explain', 'login', '--user', 'a', '--token', 'b'], /with one of --user/],
  [['explain', 'login', '--user', 'a', '--at', 'soon'], /--at must be a time/],
  [['doctor', '--public-url', 'gate'], /--public-url must be an address/],
  [['doctor', '--colour'], /There is no option --colour/],
] as const

test('a wrong command line is reported with its help', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-guide-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const results = await Promise.all(misuses.map(([args]) => run(folder, args)))
  for (const [index, { status, errors }] of results.entries()) {
    assert.equal(status, 2)
    assert.match(errors, misuses[index]?.[1] ?? /-/)
    assert.match(errors, / Help: .* (?:explain|doctor)(?: login)? --help/)
  }
})

test('a configuration with mistakes is a problem of its own', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-guide-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'fairlead.yml'), 'server:\n  port: web\n')
  const { output, status } = await run(folder, ['doctor'])
  assert.equal(status, 1)
  assert.match(output, /problem {2}Configuration\n.*\n.*server\.port/)
})
