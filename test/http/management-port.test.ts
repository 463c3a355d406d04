/** The port for probes and scrapers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { startGateway } from '../support/gateway.ts'

test('the management port serves health and metrics alone', async (t) => {
  const port = await freePort()
  await startGateway(t, {
    management: {
      server: { port },
      endpoints: { web: { exposure: { include: 'health,prometheus' } } },
    },
    server: { servlet: { 'context-path': '/api/v1' } },
    security: { basicform: { enabled: true } },
    spring: { security: { user: { name: 'ada', password: 'correct horse' } } },
  })
  const url = `http://127.0.0.1:${port}`
  for (const path of [
    '/health',
    '/actuator/health',
    '/actuator/health/liveness',
    '/actuator/health/readiness',
    '/livez',
  ]) {
    assert.equal((await fetch(url + path)).status, 200, path)
  }
  for (const path of ['/actuator/prometheus', '/aop-prometheus', '/metrics']) {
    assert.match(await (await fetch(url + path)).text(), /^# HELP /, path)
  }
  for (const path of ['/', '/applications', '/api/v1/applications', '/login', '/actuator/env']) {
    assert.equal((await fetch(url + path, { redirect: 'manual' })).status, 404, path)
  }
})
