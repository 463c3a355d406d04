/** Conditional reads: what has not changed is not sent again. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { runGateway, startGateway } from '../../support/gateway.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'

async function ask(url: string, tag?: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers: { 'accept-encoding': 'identity', ...headers, ...(tag !== undefined && { 'if-none-match': tag }) } })
  return { status: answer.status, text: await answer.text(), tag: answer.headers.get('etag') ?? undefined, headers: answer.headers }
}

test('reads of embedded services are answered with 304 until something changes', async (t) => {
  const { url } = await runGateway(t, {}, { embedded: true })
  const start = async (application: string) => {
    const stages = [{ refId: '1', type: 'wait', waitTime: 0, requisiteStageRefIds: [] }]
    const body = JSON.stringify({ application, name: 'main', stages })
    const answer = await fetch(`${url}/pipelines/start`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { ref } = (await answer.json()) as { ref: string }
    await waitUntil(async () => (await ask(url + ref)).text.includes('"endTime"'), 'the end of the run')
    return ref
  }
  const ref = await start('web')
  const id = ref.split('/').at(-1)
  for (const path of [ref, `/executions?executionIds=${id}`, '/applications', '/applications/web/tasks']) {
    const first = await ask(url + path)
    assert.equal(first.status, 200, path)
    assert.match(first.tag ?? '', /^(?:W\/)?"[\w.-]+"$/, path)
    assert.equal(first.headers.get('cache-control'), 'private, no-cache')
    assert.match(first.headers.get('vary') ?? '', /Authorization, Cookie/)
    const second = await ask(url + path, first.tag)
    assert.deepEqual([second.status, second.text, second.tag], [304, '', first.tag], path)
    assert.equal((await ask(url + path, '"other"')).status, 200, path)
    const head = await fetch(url + path, { method: 'HEAD', headers: { 'accept-encoding': 'identity', 'if-none-match': String(first.tag) } })
    assert.equal(head.status, 304, path)
  }
  const before = await ask(url + ref)
  await start('other')
  assert.equal((await ask(url + ref, before.tag)).status, 304)
  await fetch(url + ref, { method: 'DELETE' })
  assert.equal((await ask(url + ref, before.tag)).status, 404)
})

test('validators of external services are passed on, and judged by them', async (t) => {
  const orca = await startUpstream(t, ({ headers }) =>
    headers['if-none-match'] === '"7"' ? new Reply(304, undefined, { etag: '"7"' }) : new Reply(200, { id: 'e1' }, { etag: '"7"' }),
  )
  const url = await startGateway(t, { services: { orca: { baseUrl: orca.url } } })
  const first = await ask(`${url}/pipelines/e1`)
  assert.deepEqual([first.status, first.tag], [200, '"7"'])
  const second = await ask(`${url}/pipelines/e1`, '"7"')
  assert.deepEqual([second.status, second.text, second.tag], [304, '', '"7"'])
  const yaml = await ask(`${url}/pipelines/e1`, '"7"', { accept: 'application/x-yaml' })
  assert.deepEqual([yaml.status, yaml.text.trim()], [200, 'id: e1'])
  assert.equal((await ask(`${url}/pipelines/e1`, yaml.tag, { accept: 'application/x-yaml' })).status, 304)
})
