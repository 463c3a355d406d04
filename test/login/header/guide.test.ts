/** The guide about the trusted header, followed literally: its configuration as it stands, with other addresses. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import test from 'node:test'
import { parse } from 'yaml'
import { type GatewaySettings, runGateway } from '../../support/gateway.ts'

const guide = readFileSync(
  resolve(import.meta.dirname, '../../../docs/guides/login-header.md'),
  'utf8',
)
const yaml = /```yaml\n(.*?)```/s.exec(guide)?.[1] ?? ''
const guideProxies = String.raw`10\.20\.0\.\d{1,3}`

test('with the guide, only the proxy names the user', async (t) => {
  assert.ok(yaml.includes(guideProxies))
  const log: Record<string, unknown>[] = []
  const proxied = parse(yaml.replace(guideProxies, '127\\.0\\.0\\.1')) as GatewaySettings
  const { url } = await runGateway(t, proxied)
  const stranger = await runGateway(t, parse(yaml) as GatewaySettings, {
    log: (line) => log.push(line),
  })
  const headers = { 'X-SPINNAKER-USER': 'alice' }

  assert.match(await (await fetch(`${url}/auth/user`, { headers })).text(), /"username":"alice"/)
  assert.equal((await fetch(`${url}/applications`)).status, 401)
  assert.equal((await fetch(`${url}/health`)).status, 200)
  assert.equal((await fetch(`${stranger.url}/applications`, { headers })).status, 401)
  assert.ok(guide.includes('which is no trusted proxy'))
  assert.ok(log.some(({ reason }) => String(reason).endsWith('which is no trusted proxy')))
})
