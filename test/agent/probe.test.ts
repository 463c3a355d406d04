import assert from 'node:assert/strict'
import { test } from 'node:test'
import { probe } from '../../packages/agent/probe.ts'

test('a path that HTTP cannot carry is an unhealthy instance', async () => {
  for (const path of ['/€', '/a b', '/\r\nHost: x']) {
    const result = await probe({ kind: 'http', host: '127.0.0.1', port: 1, timeoutMs: 1000, path })
    assert.equal(result.kind, 'unhealthy', path)
  }
})
