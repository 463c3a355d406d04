/** The walkthrough "A build server" of CONTRIBUTING.md, carried out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extendProgram, walkthrough } from '../../support/extended-program.ts'
import { startServe } from '../../support/serve.ts'
import { waitFor } from '../../support/wait-until.ts'

/** Has one job, which any start completes at once. */
const shelf = `
import { z } from 'zod'
import type { BuildServer, BuildServerType } from './build-server.ts'

interface ShelfSettings { readonly name: string }

export const shelfType: BuildServerType<ShelfSettings, { 'shelf.name'?: string }> = {
  id: 'shelf',
  keys: z.strictObject({ 'shelf.name': z.string().optional().describe('Name of the shelf.') }),
  toSettings: ({ 'shelf.name': name }) => (name === undefined ? undefined : { name }),
  open: ({ name }) => [openShelf(name)],
}

function openShelf(name: string): BuildServer {
  const builds = [{ number: 1, building: false, result: 'SUCCESS', timestamp: '1000', duration: 5, name: 'team/app' }]
  const isKnown = (job: string) => job === 'team/app'
  return {
    type: 'shelf',
    name,
    jobs: async () => ['team/app'],
    job: async (job) => (isKnown(job) ? { name: job, buildable: true } : undefined),
    builds: async (job) => (isKnown(job) ? builds.toReversed() : undefined),
    build: async (job, number) => (isKnown(job) ? builds.find((build) => build.number === number) : undefined),
    properties: async (_job, _number, fileName) => (fileName === 'out.yml' ? { foo: 'bar' } : undefined),
    artifacts: async () => [],
    queueItem: async (item) => ({ number: Number(item) }),
    start: async (job, { parameters }) => {
      builds.push({ ...builds[0]!, number: builds.length + 1, result: parameters['RESULT'] ?? 'SUCCESS' })
      return String(builds.length)
    },
    stop: async (_job, _item, number) => void builds.splice(number - 1, 1),
    describe: async () => {},
    recentBuilds: async () => [{ job: 'team/app', builds: builds.toReversed() }],
    output: async (job, number) => (job === 'team/app' && number === 1 ? 'done' : undefined),
  }
}
`

test('a build server is a file and two lines', async (t) => {
  const { files } = walkthrough('A build server')
  for (const file of ['build-server.ts', 'build-servers.ts', 'declarations.ts'])
    assert.ok(files.includes(`packages/builds/${file}`))
  const { program, add, list } = extendProgram(t)
  add('packages/builds/shelf.ts', shelf)
  const listed = { import: "import { shelfType } from './shelf.ts'", entry: 'shelfType,' }
  list('packages/builds/declarations.ts', {
    ...listed,
    after: 'const buildServerDeclarations: readonly BuildServerDeclaration[] = [',
  })
  list('packages/builds/build-servers.ts', {
    ...listed,
    after: 'export const buildServerTypes: readonly BuildServerType[] = [',
  })

  const settings = { shelf: { name: 'attic' }, services: { igor: { baseUrl: 'embedded' } } }
  const url = await startServe(t, settings, { program }).listening
  const read = async (path: string) => {
    const answer = await fetch(`${url}/v3/builds${path}`)
    return answer.status === 200 ? await answer.json() : answer.status
  }

  // The back ends of a gateway that listens come up a moment later.
  const servers = await waitFor(async () => {
    const answer = await read('')
    return answer === 502 ? undefined : answer
  }, 'the build servers')
  assert.deepEqual(servers, ['attic'])
  assert.deepEqual(await read('?type=shelf'), ['attic'])
  assert.deepEqual(await read('?type=jenkins'), [])
  assert.deepEqual(await read('/attic/jobs'), ['team/app'])
  assert.deepEqual(await read('/attic/job?job=team/app'), { name: 'team/app', buildable: true })
  assert.equal(((await read('/attic/builds?job=team/app')) as unknown[]).length, 1)
  assert.equal(
    ((await read('/attic/build/1?job=team/app')) as { result: string }).result,
    'SUCCESS',
  )
  assert.equal(await read('/attic/build/2?job=team/app'), 404)
  assert.equal(await read('/cellar/jobs'), 404)
})
