/** Plug-ins of Deck that come with Fairlead. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { startGateway } from '../support/gateway.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

async function start(t: TestContext): Promise<string> {
  const folder = createFolder('deck-plugin')
  t.after(() => removeFolder(folder))
  const dir = join(folder, 'files')
  mkdirSync(join(dir, 'images'), { recursive: true })
  writeFileSync(join(dir, 'index.js'), 'export const plugin = {}')
  writeFileSync(join(folder, 'secret.js'), 'outside')
  const plugin = {
    id: 'fairlead.local',
    name: 'Local',
    version: '1.2.3',
    dir: pathToFileURL(`${dir}/`),
  }
  return startGateway(t, {}, { builtInPlugins: [plugin] })
}

test('the manifest lists built-in plug-ins', async (t) => {
  const gateway = await start(t)
  const answer = await fetch(`${gateway}/plugins/deck/plugin-manifest.json`)
  assert.deepEqual(await answer.json(), [{ id: 'fairlead.local', name: 'Local', version: '1.2.3' }])
})

test('files of a built-in plug-in are served', async (t) => {
  const gateway = await start(t)
  const answer = await fetch(`${gateway}/plugins/deck/fairlead.local/1.2.3/index.js`)
  assert.equal(answer.headers.get('content-type'), 'application/javascript')
  assert.equal(answer.headers.get('cache-control'), 'max-age=86400, must-revalidate, private')
  assert.equal(await answer.text(), 'export const plugin = {}')
})

test('nothing but files of the folder is served', async (t) => {
  const gateway = await start(t)
  for (const path of [
    '1.2.3/images',
    '1.2.3/other.js',
    '1.2.3/%2e%2e%2fsecret.js',
    '9.9.9/index.js',
  ]) {
    const { status } = await fetch(`${gateway}/plugins/deck/fairlead.local/${path}`)
    assert.ok(status === 404 || status === 400, `${path} is answered with ${status}`)
  }
})
