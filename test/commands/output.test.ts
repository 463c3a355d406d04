import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

test('a command whose output nobody reads to the end says nothing about that', async () => {
  const line = `set -o pipefail; '${process.execPath}' bin/fairlead.ts openapi | head -c 20`
  const { stdout, stderr } = await run('bash', ['-c', line], { cwd: `${import.meta.dirname}/../..` })
  assert.match(stdout, /openapi/)
  assert.equal(stderr, '')
})

const misused = [['--confg', 'gate.yml'], ['--config'], ['gate.yml']]
for (const command of ['check', 'serve']) {
  for (const args of misused) {
    test(`${command} ${args.join(' ')} is misuse, and nothing is read`, async () => {
      const started = run(process.execPath, ['bin/fairlead.ts', command, ...args], { cwd: `${import.meta.dirname}/../..` })
      await assert.rejects(started, (error: { code: number; stdout: string; stderr: string }) => {
        assert.equal(error.code, 2)
        assert.equal(error.stdout, '')
        assert.match(error.stderr, new RegExp(args[0]?.replace('--', '') ?? ''))
        return true
      })
    })
  }
}
