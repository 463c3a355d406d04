/** The command line reads its words, and says what to type where it cannot. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '../../packages/cli/commands/all.ts'
import { operatorCommands } from '../../packages/cli/operator-commands.ts'
import { runCli } from '../support/cli.ts'

test('app-scenario 1: --help lists all commands without a network', async () => {
  const probe = 'process.on("exit", () => console.error(process.moduleLoadList.join("\\n")))'
  const { code, stdout, stderr } = await runCli(['--help'], {
    env: {
      FAIRLEAD_URL: 'http://192.0.2.1',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(probe)}`,
    },
  })

  assert.equal(code, 0)
  assert.match(stderr, /^NativeModule fs$/m)
  // They would take a quarter of its time.
  assert.doesNotMatch(stderr, /^NativeModule (?:https|tls)$/m)
  const shown = commands.flatMap(({ name, isHidden }) => (isHidden ? [] : [name]))
  for (const name of [...shown, ...Object.keys(operatorCommands)])
    assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'))
})

const mistakes: readonly [line: string, code: number, message: RegExp][] = [
  ['', 3, /No command is given\./],
  ['versoin', 3, /no command "versoin"\. Did you mean: fairlead version\n/],
  ['sreve', 3, /Did you mean: fairlead serve\n/],
  ['version --outptu json', 3, /no option --outptu\. Did you mean --output\?/],
  ['version --output xml', 3, /'xml' is invalid\. Allowed choices are text, json\./],
  ['version 9', 3, /too many arguments.* Help: fairlead version --help/i],
]
for (const [line, code, message] of mistakes) {
  test(`"${line}" says what to type`, async () => {
    const run = await runCli(line === '' ? [] : line.split(' '))
    assert.equal(run.code, code)
    assert.equal(run.stdout, '')
    assert.match(run.stderr, message)
  })
}

test('the help of a command lists its options', async () => {
  const { code, stdout } = await runCli(['help', 'start'])
  assert.equal(code, 0)
  for (const option of ['--parameter', '--follow', '--output <format>'])
    assert.ok(stdout.includes(option), option)
})

test('app-scenario 15: an error with --output json is an object on standard error', async () => {
  const { code, stdout, stderr } = await runCli(['depoly', '--output', 'json'])

  assert.equal(code, 3)
  assert.equal(stdout, '')
  const { error } = JSON.parse(stderr) as { error: Record<string, string> }
  assert.equal(error['code'], 'UNKNOWN_COMMAND')
  assert.match(JSON.stringify(error), /fairlead deploy|"deploy"|deploy/)
  assert.ok(error['message'] && error['remedy'])
})
