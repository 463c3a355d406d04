import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { listAuditFiles } from '../../packages/gateway/audit/file-sink.ts'
import { linesOf } from '../../packages/gateway/audit/lines.ts'
import { openAuditSink } from '../../packages/gateway/audit/open-sink.ts'
import { readAuditFile } from '../../packages/gateway/audit/sqlite-sink.ts'
import { verifyChain } from '../../packages/gateway/audit/verify.ts'
import { testProgram } from '../support/program.ts'
import { eventsOf, temporaryFolder } from './support.ts'

async function* linesOfAll(file: string): AsyncGenerator<string> {
  for (const one of listAuditFiles(file)) yield* linesOf(one)
}

for (const [kind, read] of [
  ['sqlite', readAuditFile],
  ['file', linesOfAll],
] as const) {
  test(`a killed process (${kind}) leaves a sound chain that continues`, async (t) => {
    const file = join(temporaryFolder(t), 'audit.log')
    let confirmed = 0
    for (let round = 0; round < 3; round++) {
      confirmed += await writeUntilKilled(kind, file, 20 + round * 7)
      const { breaks, records } = await verifyChain(read(file))
      assert.deepEqual(breaks, [])
      assert.ok(records >= confirmed, `${records} of ${confirmed}`)
      confirmed = records
    }
    const sink = await openAuditSink(
      kind === 'sqlite' ? { kind, file } : { kind, file, maxBytes: 20_000, maxAgeMs: 3_600_000 },
    )
    await sink.append(eventsOf(1))
    await sink.close()
    const { breaks, incomplete, last } = await verifyChain(read(file))
    assert.deepEqual([breaks, incomplete], [[], false])
    assert.ok((last?.sequence ?? 0) > confirmed)
  })
}

/** @returns how many records were confirmed */
async function writeUntilKilled(kind: string, file: string, least: number): Promise<number> {
  const child = spawn(process.execPath, [testProgram('audit/writer'), kind, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (countOf(output) >= least) child.kill('SIGKILL')
  })
  await ended
  return countOf(output)
}

function countOf(output: string): number {
  return Number(output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1) ?? 0)
}
