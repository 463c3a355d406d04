/** On a terminal a record of the log is one short line, which nothing that clients send can break out of. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { formatLine } from '../../packages/base/telemetry/format-line.ts'
import { sharedEnvironment } from '../support/program.ts'

const at = { level: 'info', time: '2026-01-31T12:00:00.000Z' }
const request = {
  ...at,
  msg: 'request',
  requestId: 'r',
  method: 'GET',
  path: '/networks',
  status: 200,
  bytes: 10,
  durationMs: 3.4,
}
const plain = (record: object) =>
  formatLine(JSON.stringify(record), (_, text) => text).replace(/^\d\d:\d\d:\d\d /, '')

const rows: [title: string, record: object, line: string][] = [
  [
    'a request',
    { ...request, user: 'kim', operation: 'x', upstream: ['clouddriver 200 2ms'] },
    'GET  /networks 200 3 ms kim',
  ],
  [
    'a request without user',
    { ...request, method: 'DELETE', status: 401 },
    'DELETE /networks 401 3 ms',
  ],
  [
    'a client that left',
    { ...request, status: 499, brokenOff: true },
    'GET  /networks 499 3 ms broken off',
  ],
  [
    'a long path',
    { ...request, path: `/${'x'.repeat(3000)}` },
    `GET  /${'x'.repeat(98)}… 200 3 ms`,
  ],
  [
    'a user name with an escape sequence',
    { ...request, user: 'k\u009b2Ji\u202em\n' },
    'GET  /networks 200 3 ms k\\u{9b}2Ji\\u{202e}m\\u{a}',
  ],
  [
    'a message',
    { ...at, msg: 'listening on http://127.0.0.1:8084' },
    'listening on http://127.0.0.1:8084',
  ],
  [
    'a warning with fields',
    { ...at, level: 'warn', msg: 'slow', service: 'orca', n: [1] },
    'WARN slow service=orca n=[1]',
  ],
  ['a warning that says so itself', { ...at, level: 'warn', msg: 'Warning: open' }, 'WARN open'],
  [
    'a warning with a cause',
    {
      ...at,
      level: 'warn',
      msg: 'no answer',
      err: { message: 'ECONNREFUSED', stack: 'Error\n at x' },
    },
    'WARN no answer (ECONNREFUSED)',
  ],
  [
    'a sentence with a cause',
    {
      ...at,
      level: 'warn',
      msg: 'no list',
      err: { message: 'orca did not answer.: connect ECONNREFUSED', stack: 'Error\n at x' },
    },
    'WARN no list (orca did not answer: connect ECONNREFUSED)',
  ],
  [
    'an error of the program',
    {
      ...at,
      level: 'error',
      msg: 'failed',
      code: 'UNEXPECTED',
      err: { message: 'x', stack: 'Error: x\u001b\n    at y' },
    },
    'ERROR failed code=UNEXPECTED\n    Error: x\\u{1b}\n    at y',
  ],
]
for (const [title, record, line] of rows) {
  test(`for people, ${title} is "${JSON.stringify(line.slice(0, 60))}"`, () =>
    assert.equal(plain(record), line))
}

const forms: [format: string, env: Record<string, string>, output: string][] = [
  ['auto', { FORCE_COLOR: '1' }, '{"level":"warn","time":"TIME","msg":"x"}\n'],
  ['text', { FORCE_COLOR: '1' }, '\u001b[2mTIME\u001b[22m \u001b[33mWARN\u001b[39m x\n'],
  ['text', { NO_COLOR: '1' }, 'TIME WARN x\n'],
]
for (const [format, env, expected] of forms) {
  test(`in a pipe, the format ${format} obeys ${Object.keys(env)[0]}`, () => {
    const script = `import { openLog } from './packages/base/telemetry/log.ts'; openLog('info', '${format}').log.warn('x')`
    const cwd = `${import.meta.dirname}/../..`
    const args = ['--input-type=module', '--eval', script]
    const output = execFileSync(process.execPath, args, {
      cwd,
      encoding: 'utf8',
      env: { ...sharedEnvironment, ...env },
    })
    assert.equal(output.replace(/(?:\d{4}-[\d-]+T)?\d\d:\d\d:\d\d(?:\.\d+Z)?/, 'TIME'), expected)
  })
}
