/** `fairlead audit verify` over several files: what is missing is told with the file and line. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { listAuditFiles, openFileSink } from '../../packages/gateway/audit/file-sink.ts'
import { openSqliteSink } from '../../packages/gateway/audit/sqlite-sink.ts'
import { program, sharedEnvironment } from '../support/program.ts'
import { eventsOf, temporaryFolder } from './support.ts'

async function verify(
  args: readonly string[],
  home?: string,
): Promise<{ status: number; text: string }> {
  try {
    const options =
      home === undefined ? {} : { cwd: home, env: { ...sharedEnvironment, HOME: home } }
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, 'audit', 'verify', ...args],
      options,
    )
    return { status: 0, text: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { status: code, text: stdout + stderr }
  }
}

/** Three files or more, with twelve records, of which three tell of a lost event. */
async function writeFiles(t: TestContext): Promise<string[]> {
  const file = join(temporaryFolder(t), 'audit.log')
  const sink = await openFileSink({ file, maxBytes: 1500, maxAgeMs: 3_600_000 })
  for (const event of eventsOf(12))
    await sink.append([{ ...event, ...(event.decision === 'refused' && { lost: 1 }) }])
  await sink.close()
  const files = listAuditFiles(file)
  assert.ok(files.length >= 3, String(files.length))
  return files
}

test('all files verify even if the last line is partial', async (t) => {
  const files = await writeFiles(t)
  appendFileSync(files.at(-1) as string, '{"at":"2026-07-01T12:0')
  const { status, text } = await verify(files)
  assert.equal(status, 0, text)
  assert.match(text, /^12 records, none altered or missing/)
  assert.match(text, /^3 events could not be written, as the records say themselves$/m)
  assert.match(text, /^the last line is incomplete/m)
})

test('a missing rotated file is reported with its records', async (t) => {
  const files = await writeFiles(t)
  const [first = '', second = '', third = ''] = files
  const inFirst = readFileSync(first, 'utf8').trimEnd().split('\n').length
  const inSecond = readFileSync(second, 'utf8').trimEnd().split('\n').length
  rmSync(second)
  const { status, text } = await verify(files.filter((file) => file !== second))
  assert.equal(status, 1)
  const missing = `records ${inFirst + 1} to ${inFirst + inSecond} are missing`
  assert.ok(text.startsWith(`${third}, line 1, comes after a gap: ${missing}\n`), text)
})

test('a line that was altered is told with its file', async (t) => {
  const files = await writeFiles(t)
  const [, second = ''] = files
  writeFileSync(second, readFileSync(second, 'utf8').replace('"user":"alice"', '"user":"mallory"'))
  const { status, text } = await verify(files)
  assert.equal(status, 1)
  assert.ok(
    text.startsWith(`${join(dirname(second), basename(second))}, line 1, was altered`),
    text,
  )
})

test('without arguments, the log of the configuration is verified', async (t) => {
  const home = temporaryFolder(t)
  const configure = (audit: unknown) => {
    const file = join(home, 'gate.yml')
    writeFileSync(file, JSON.stringify({ data: { dir: join(home, 'data') }, audit }))
    return verify(['--config', file], home)
  }
  const files = await writeFiles(t)
  assert.match(
    (await configure({ sink: 'file', file: files.at(-1) })).text,
    /^12 records, none altered or missing/,
  )

  mkdirSync(join(home, 'data'))
  const database = openSqliteSink(join(home, 'data', 'audit.db'))
  await database.append(eventsOf(5))
  await database.close()
  assert.match((await configure({})).text, /^5 records, none altered or missing/)

  for (const [audit, reason] of [
    [{ sink: 'stdout' }, /audit\.sink is stdout; name the files/],
    [{ enabled: false }, /audit\.enabled\); name the files/],
  ] as const) {
    const { status, text } = await configure(audit)
    assert.equal(status, 1)
    assert.match(text, reason)
  }
})
