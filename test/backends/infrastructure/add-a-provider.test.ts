/** The walkthrough "A cloud provider" of CONTRIBUTING.md, carried out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject } from '../../../packages/base/json/values.ts'
import { extendProgram, walkthrough } from '../../support/extended-program.ts'
import { startServe } from '../../support/serve.ts'
import { waitFor } from '../../support/wait-until.ts'

/** Has an account of any name, and one server group. */
const shelf = `
import { z } from 'zod'
import { noMoniker } from '@fairlead/base/names/moniker.ts'
import type { ServerGroup } from '../infrastructure/model.ts'
import type { CloudProvider } from '../infrastructure/provider.ts'
import type { ProviderType } from '../provider-type.ts'

const ShelfKeys = z.strictObject({
  'shelf.account': z.string().optional().describe('Name of the account. Default: none, and no provider.'),
})

interface ShelfSettings { readonly account: string }

const shelf: ProviderType<typeof ShelfKeys, ShelfSettings> = {
  id: 'shelf',
  keys: ShelfKeys,
  toSettings: ({ 'shelf.account': account }) => (account === undefined ? undefined : { account }),
  migrations: ['CREATE TABLE infrastructure_shelf (name TEXT PRIMARY KEY) STRICT'],
  description: { label: 'Shelf', forms: [], refused: { cloneServerGroup: 'There is one of each.' }, help: {} },
  open: (_context, { account }) => openShelf(account),
}
export const shelfProvider: ProviderType = shelf

function openShelf(account: string): CloudProvider {
  const box: ServerGroup = {
    provider: 'shelf', account, region: 'top', name: 'box of shop', moniker: { ...noMoniker, app: 'shop', cluster: 'box' },
    zones: [], createdMs: 1, isDisabled: false, capacity: { min: null, max: null, desired: 0 }, instances: [], loadBalancers: [],
    securityGroups: [], instanceType: undefined, vpcId: undefined, buildInfo: undefined, image: undefined, launchConfig: {}, tags: {},
    labels: {}, details: {},
  }
  return {
    id: 'shelf',
    accounts: [
      { name: account, provider: 'shelf', accountId: null, environment: 'test', accountType: 'test', permissions: {}, details: {} },
    ],
    operations: {},
    serverGroups: (application) => (application === undefined || application.toLowerCase() === 'shop' ? [box] : []),
    serverGroup: (_account, _region, name) => (name === box.name ? box : undefined),
    loadBalancers: () => [],
    securityGroups: () => [],
    instance: () => undefined,
    detachedInstances: () => [],
    applicationOf: () => undefined,
    console: async () => undefined,
    jobs: () => [],
    jobFile: async () => undefined,
    removeJob: async () => {},
    scalingActivities: () => undefined,
    start: () => {},
    close: () => {},
  }
}
`

test('a cloud provider is a folder and two lines', async (t) => {
  const { files } = walkthrough('A cloud provider')
  for (const file of ['all.ts', 'declarations.ts'])
    assert.ok(files.includes(`packages/providers/${file}`))
  const { program, add, list } = extendProgram(t)
  add('packages/providers/shelf/provider.ts', shelf)
  const listed = {
    import: "import { shelfProvider } from './shelf/provider.ts'",
    entry: '  shelfProvider,',
  }
  list('packages/providers/declarations.ts', {
    ...listed,
    after: 'export const providerDeclarations: readonly ProviderDeclaration[] = [',
  })
  list('packages/providers/all.ts', {
    ...listed,
    after: 'export const providerTypes: readonly ProviderType[] = [',
  })

  const settings = {
    shelf: { account: 'attic' },
    local: { enabled: false },
    services: { clouddriver: { baseUrl: 'embedded' } },
  }
  const url = await startServe(t, settings, { program }).listening
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`)
    assert.equal(answer.status, 200, path)
    return (await answer.json()) as JsonObject[]
  }

  const [group] = await read('/applications/shop/serverGroups')
  assert.deepEqual(
    [group?.['name'], group?.['cloudProvider'], fieldAt(group, 'moniker', 'app')],
    ['box of shop', 'shelf', 'shop'],
  )
  // The gateway learns of accounts a moment after its start.
  const [account] = await waitFor(async () => {
    const accounts = await read('/credentials')
    return accounts.length === 0 ? undefined : accounts
  }, 'the accounts')
  assert.deepEqual([account?.['name'], account?.['type']], ['attic', 'shelf'])
  assert.deepEqual(await read('/capabilities/cloudProviders'), [
    {
      id: 'shelf',
      label: 'Shelf',
      forms: [],
      refused: { cloneServerGroup: 'There is one of each.' },
      help: {},
    },
  ])
})
