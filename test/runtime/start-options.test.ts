/** The options with which a server starts, tried with a program that prints what it got. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createFolder } from '../support/temporary-folder.ts'

const own = '131072'
const program = join(createFolder('start-options'), 'program.mjs')
const optionsFile = new URL('../../src/runtime/start-options.ts', import.meta.url).href
writeFileSync(
  program,
  `import { useStartOptions } from '${optionsFile}'
useStartOptions()
const { pid, execArgv, argv, env } = process
console.log(JSON.stringify({ pid, execArgv, args: argv.slice(2), threshold: env.MALLOC_MMAP_THRESHOLD_ }))
process.channel?.unref()`,
)

interface Start {
  readonly options?: readonly string[]
  readonly env?: Record<string, string>
  readonly hasChannel?: boolean
}

async function start({ options = [], env = {}, hasChannel = false }: Start = {}): Promise<Record<string, unknown>> {
  const child = spawn(process.execPath, [...options, program, 'serve', 'a b'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(hasChannel ? (['ipc'] as const) : [])],
  })
  assert.ok(child.stdout !== null && child.stderr !== null)
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.equal(errors, '')
  const { pid, ...told } = JSON.parse(output)
  assert.equal(pid, child.pid)
  return told
}

const args = ['serve', 'a b']

test('a server gets the options that it lacks', async () => {
  const execArgv = ['--max-semi-space-size=16']
  assert.deepEqual(await start(), { execArgv, args, threshold: own })
})

test('a server keeps the options that its user has set', async () => {
  const options = ['--max-semi-space-size=4']
  const env = { MALLOC_MMAP_THRESHOLD_: '1000000' }
  assert.deepEqual(await start({ options, env }), { execArgv: options, args, threshold: '1000000' })
  assert.deepEqual(await start({ options }), { execArgv: options, args, threshold: own })
  const variable = await start({ env: { NODE_OPTIONS: '--max_semi_space_size=4' } })
  assert.deepEqual(variable, { execArgv: [], args, threshold: own })
})

test('a server with a channel to its parent starts as it is', async () => {
  assert.deepEqual(await start({ hasChannel: true }), { execArgv: [], args })
})
