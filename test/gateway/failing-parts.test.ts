import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { lockDataDir } from '../../packages/app/hosting/lock.ts'
import { openParts } from '../../packages/base/concurrency/open-parts.ts'
import { createFiles, createIssuers } from '../login/x509/support.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { startSamlIdentityProvider } from '../support/saml-identity-provider.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

const openFiles = '/proc/self/fd'
/** Far less than what is left open would stay. */
const maxTurns = 1000

interface Obstacle {
  part: string
  settings: (t: TestContext, dataDir: string) => GatewaySettings | Promise<GatewaySettings>
  /** A file of the data directory that is no database. */
  damaged: string
  embedded?: boolean
}

const form = { security: { basicform: { enabled: true } } }

const obstacles: Obstacle[] = [
  {
    part: 'the audit log',
    embedded: true,
    settings: async (t) => {
      const { server } = await createIssuers()
      const files = createFiles(t)
      const ssl = {
        certificate: files.write('gate.pem', server.cert),
        'certificate-private-key': files.write('gate.key', server.key),
      }
      return { server: { ssl }, ...form }
    },
    damaged: 'audit.db',
  },
  {
    part: 'the users',
    settings: () => form,
    damaged: 'users.db',
  },
  {
    part: 'the API tokens',
    settings: () => form,
    damaged: 'tokens.db',
  },
  {
    part: 'the used assertions of SAML',
    settings: (_t, dataDir) => ({
      saml: { enabled: true, metadataUrl: join(dataDir, 'metadata.xml'), issuerId: 'spinnaker' },
    }),
    damaged: 'saml.db',
  },
]

for (const { part, settings, damaged, embedded = false } of obstacles) {
  test(`${part} cannot be opened: every part before is closed`, async (t) => {
    const dataDir = createFolder('failing-parts')
    t.after(() => removeFolder(dataDir))
    writeFileSync(join(dataDir, damaged), 'no database'.repeat(100))
    const { metadata } = await startSamlIdentityProvider(t)
    writeFileSync(join(dataDir, 'metadata.xml'), metadata)
    const configured = await settings(t, dataDir)

    const timers = watchTimers(t)
    await assert.rejects(
      () => runGateway(t, configured, { dataDir, embedded, ownThread: true }),
      new RegExp(damaged),
    )
    // Timers are reported as gone in a later turn of the event loop, and files are closed beside it.
    for (
      let turns = 0;
      turns < maxTurns && (timers.size > 0 || filesBelow(dataDir).length > 0);
      turns++
    )
      await turn()
    assert.deepEqual([...timers.values()], [])
    assert.deepEqual(filesBelow(dataDir), [])
    lockDataDir(dataDir).close()
  })
}

test('parts close in reverse order, also after one that fails', async () => {
  const closed: string[] = []
  const part = (name: string) => ({ close: () => void closed.push(name) })
  const failing = { close: () => Promise.reject(new Error('not closed')) }
  const { close, result } = await openParts((keep) => [
    keep(part('first')),
    keep(failing),
    keep(undefined),
    keep(part('last')),
  ])
  assert.equal(result.length, 4)
  await assert.rejects(close, /not closed/)
  assert.deepEqual(closed, ['last', 'first'])
  await close()
  assert.equal(closed.length, 2)
})

test('the failure of a part hides that of the clean-up', async () => {
  const opening = openParts((keep) => {
    keep({ close: () => Promise.reject(new Error('not closed')) })
    throw new Error('not opened')
  })
  await assert.rejects(opening, /not opened/)
})

/** Timers that were set since and neither fired nor cleared, with where they were set. */
function watchTimers(t: TestContext): ReadonlyMap<number, string> {
  const timers = new Map<number, string>()
  const hook = createHook({
    init: (id, type) =>
      void (type === 'Timeout' && timers.set(id, new Error('a timer').stack ?? '')),
    destroy: (id) => void timers.delete(id),
  }).enable()
  t.after(() => hook.disable())
  return timers
}

/** Files that this process holds open, where the operating system lists them. */
function filesBelow(folder: string): string[] {
  if (!existsSync(openFiles)) return []
  const linked = (name: string) => {
    try {
      return readlinkSync(join(openFiles, name))
    } catch {
      return ''
    }
  }
  return readdirSync(openFiles)
    .map(linked)
    .filter((file) => file.startsWith(folder))
}
