/** The session file: what survives the end of a process, and a file that is none. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { testProgram } from '../support/program.ts'
import { alice } from './alice.ts'
import { createClock, openTestSessions, temporaryDirectory } from './support.ts'

test('every session that a process has confirmed survives its kill -9', async (t) => {
  const dataDir = temporaryDirectory(t)
  const child = spawn(process.execPath, [testProgram('sessions/writer'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.split('\n').length > 200) child.kill('SIGKILL')
  })
  await once(child, 'close')
  const confirmed = output
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ') as [string, string])
  assert.ok(confirmed.length >= 200)

  const sessions = openTestSessions(t, dataDir, createClock(Date.now()))

  for (const [id, username] of confirmed) {
    assert.equal((await sessions.find(`SESSION=${id}`))?.content.user?.username, username)
  }
})

test('an invalid session file is replaced', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(
    join(dataDir, 'sessions.db'),
    'This is not a database, although it is long enough to look like one. '.repeat(50),
  )

  const sessions = openTestSessions(t, dataDir, createClock())

  const { id } = await sessions.start(alice)
  assert.ok(await sessions.find(`SESSION=${id}`))
  assert.match(readFileSync(join(dataDir, 'sessions.db.unreadable'), 'utf8'), /not a database/)
})
