/** Apps are built of uploaded folders and deployed in one run. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fieldOf, type JsonObject } from '../../packages/base/json/values.ts'
import { startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { uploadSource } from '../support/source-upload.ts'

const program = `
import { createServer } from 'node:http'
const { PORT, HOST } = process.env
createServer((_request, response) => response.end('TEXT')).listen(Number(PORT), HOST)
`

test('app-scenario 34, 36: a folder is uploaded, built, deployed, changed and rolled back', async (t) => {
  const port = await freePort()
  const fairlead = await startDeployments(t, { front: { http: port, https: await freePort() } })
  const file = `
application: site
account: dev
build: { steps: ["true"] }
services:
  web: { command: node server.mjs, hosts: [site.example] }
`
  const deploy = async (words: string, commit: string) => {
    const files = { 'server.mjs': program.replace('TEXT', words), '.fairlead/app.yml': file }
    const headers = { 'X-SPINNAKER-USER': 'alice' }
    const { source } = await uploadSource(fairlead.url(), 'site', files, headers)
    const { status, body } = await fairlead.ask('POST', '/apps/site/deployments', {
      file,
      source,
      commit,
    })
    assert.equal(status, 202, JSON.stringify(body))
    const id = String(fieldOf(body, 'id'))
    await fairlead.ends(id, 'SUCCEEDED', 'pipelines').catch(async () => {
      const { stages } = await fairlead.read<{ stages: JsonObject[] }>(`/pipelines/${id}`)
      assert.fail(
        JSON.stringify(stages.map(({ type, context }) => [type, fieldOf(context, 'exception')])),
      )
    })
    return body as JsonObject
  }
  const page = async () => {
    const [answer] = (await once(
      get({ port, host: '127.0.0.1', headers: { host: 'site.example' } }),
      'response',
    )) as [IncomingMessage]
    return text(answer)
  }

  const first = await deploy('one', '4f7c2d1000')
  assert.equal(first['version'], '1-4f7c2d1')
  assert.equal(await page(), 'one')
  const second = await deploy('two', '5f7c2d1000-dirty')
  assert.equal(second['version'], '2-5f7c2d1-dirty')
  assert.equal(await page(), 'two')
  const { body } = await fairlead.ask('POST', '/apps/site/rollback', {})
  await fairlead.ends(String(fieldOf(body, 'id')), 'SUCCEEDED', 'pipelines')
  assert.equal(await page(), 'one')
})
