import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { findApiOperation } from '../../../packages/gateway/operations/access/find-operation.ts'
import { allOperations, subjects } from '../../../packages/gateway/operations/all.ts'
import { formatOpenApi } from '../../../packages/gateway/operations/serving/openapi.ts'
import { startGateway } from '../../support/gateway.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

const root = resolve(import.meta.dirname, '../../..')
const password = 'all-hands-on-deck'

/** What the calls are given; they are compiled here and not with the project. */
interface Connection {
  baseUrl: string
  authorization: string
  fetch: typeof fetch
}

interface Recorded {
  request: string
  answer: unknown
}

test('a generated client makes the calls that users make most', { timeout: 600_000 }, async (t) => {
  const makeCalls = await compileCalls(t)
  const url = await startGateway(
    t,
    {
      anonymous: { enabled: false },
      fairlead: { admin: { password } },
      taskService: { defaultIntervalBetweenPolls: 50 },
    },
    { embedded: true },
  )
  const recorded: Recorded[] = []
  await makeCalls({
    baseUrl: url,
    authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
    fetch: recordInto(recorded),
  })
  assert.deepEqual(recorded.flatMap(findMisfits), [])
})

/** Generates a client in an own folder, and compiles it together with the calls. */
async function compileCalls(t: TestContext): Promise<(connection: Connection) => Promise<void>> {
  const folder = createFolder('client')
  t.after(() => removeFolder(folder))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(folder, 'api.json'),
    JSON.stringify(formatOpenApi(subjects, { version: '1.2.3' })),
  )
  copyFileSync(join(root, 'test/fixtures/generated-client/calls.ts'), join(folder, 'calls.ts'))
  await run(
    'node_modules/oazapfts/dist/cli.js',
    join(folder, 'api.json'),
    join(folder, 'client.ts'),
  )
  const client = readFileSync(join(folder, 'client.ts'), 'utf8').toLowerCase()
  const missing = allOperations.filter(
    ({ id }) => !client.includes(`export function ${id.toLowerCase()}(`),
  )
  assert.deepEqual(
    missing.map(({ id, method }) => `${method} ${id}`),
    [],
  )
  await run(
    'node_modules/typescript/bin/tsc',
    ...[
      '--ignoreConfig',
      '--strict',
      '--skipLibCheck',
      '--target',
      'esnext',
      '--module',
      'nodenext',
    ],
    ...[
      '--allowImportingTsExtensions',
      '--rewriteRelativeImportExtensions',
      '--noUncheckedIndexedAccess',
    ],
    ...[
      '--lib',
      'esnext,dom,dom.iterable',
      '--types',
      'node',
      '--outDir',
      join(folder, 'compiled'),
      join(folder, 'calls.ts'),
    ],
  )
  return (await import(pathToFileURL(join(folder, 'compiled/calls.js')).href)).makeCalls
}

function run(...args: string[]): Promise<void> {
  return new Promise((done, fail) => {
    execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) => {
      if (error === null) done()
      else fail(new Error((stdout + stderr).slice(0, 4000)))
    })
  })
}

function recordInto(recorded: Recorded[]): typeof fetch {
  return async (input, init) => {
    const answer = await fetch(input, init)
    const text = await answer.clone().text()
    const request = `${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`
    if (answer.ok && text !== '') recorded.push({ request, answer: JSON.parse(text) })
    return answer
  }
}

/** What a real answer has that its documented type does not allow. */
function findMisfits({ request, answer }: Recorded): string[] {
  const { operation } = findApiOperation(allOperations, request)
  const { error } = operation.answer.safeParse(answer)
  return (error?.issues ?? []).map(
    ({ path, message }) => `${operation.id} ${path.join('.')}: ${message}`,
  )
}
