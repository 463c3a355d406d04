/** Names of any script, in a gateway with all back ends embedded, from the request to the run. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Execution {
  status: string
  name: string
  application: string
}

const names = ['приложение 🚀', 'مرحبا بالعالم', '‮evil', '<script>alert(1)</script>', '100% %41', "' OR 1=1 --"]

async function startStandalone(t: TestContext) {
  const url = await startGateway(t, {}, { embedded: true })
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json().catch(() => undefined)) as unknown }
  }
  return { ask }
}

test('applications and pipelines of any name are started by hand and by webhook', async (t) => {
  const { ask } = await startStandalone(t)
  const start = async (name: string, index: number) => {
    const id = `p${index}`
    const triggers = [{ type: 'webhook', source: id, enabled: true }]
    const definition = { id, application: name, name, stages: [{ type: 'wait', waitTime: 0 }], triggers }
    assert.equal((await ask('POST', '/pipelines', definition)).status, 200, name)
    assert.equal((await ask('POST', `/webhooks/webhook/${id}`, {})).status, 200)
    // Paths may hold neither an encoded slash nor an encoded percent sign.
    const byHand = !/[/%]/.test(name)
    if (byHand) {
      assert.equal((await ask('POST', `/pipelines/v2/${encodeURIComponent(name)}/${id}`, {})).status, 202, name)
    }
    let runs: Execution[] = []
    const areDone = async () => {
      runs = (await ask('GET', `/executions?pipelineConfigIds=${id}&limit=10`)).body as Execution[]
      return runs.length === (byHand ? 2 : 1) && runs.every(({ status }) => status === 'SUCCEEDED')
    }
    await waitUntil(areDone, `the runs of ${name}`)
    for (const run of runs) assert.deepEqual([run.name, run.application], [name, name])
  }
  await Promise.all(names.map(start))
})
