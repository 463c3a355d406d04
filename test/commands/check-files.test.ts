/** `fairlead check` with files of definitions. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { program } from '../support/program.ts'
import { createHome } from '../support/serve.ts'

const pipelines = `
application: shop
name: deploy
stages: [{ type: wiat, name: Odd, refId: '1' }]
triggers: [{ type: pipeline, enabled: true, pipeline: other, status: [successful] }]
---
{ "kind": "application", "name": "shop", "email": "a@x.example" }
---
{ "application": "shop", "id": "other", "name": "other", "stages": [] }
`
const canary = {
  name: 'c',
  applications: ['shop'],
  judge: { name: 'Other' },
  metrics: [{ name: 'm', query: {} }],
}

test('files are judged as a save would, and find each other', async (t) => {
  const home = createHome(t)
  const write = (name: string, text: string) => {
    writeFileSync(join(home, name), text)
    return name
  }
  const check = (...args: string[]) =>
    new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      execFile(process.execPath, [program, 'check', ...args], { cwd: home }, (error, out, err) =>
        resolve({ code: error?.code ?? 0, out, err }),
      )
    })
  const files = [write('p.yml', pipelines), write('c.json', JSON.stringify(canary))]

  const found = await check(...files)
  const lines = found.out.trim().split('\n')
  assert.equal(found.code, 0, found.err)
  assert.equal(lines.length, 3, found.out)
  assert.match(
    lines[0] ?? '',
    /^error: p\.yml: pipeline "deploy" of shop: Stage "Odd": There is no/,
  )
  assert.match(lines[1] ?? '', /^error: c\.json: .*: judge\.name: .*"Other" is not of the embedded/)
  assert.equal(lines[2], '4 definitions, 2 findings.')

  assert.equal((await check(...files, '--strict')).code, 1)

  const unknown = await check(write('u.yml', 'a: 1'))
  assert.equal(unknown.code, 1)
  assert.match(unknown.err, /^u\.yml cannot be checked: it is no definition.* write "kind"/)
  const manifest = await check(write('m.yml', 'apiVersion: v1\nkind: Application\n'))
  assert.match(
    manifest.err,
    /^m\.yml cannot be checked: "\w+" of \S+ is a manifest of Kubernetes.*deploy-to-kubernetes/,
  )
  const missing = await check('none.yml')
  assert.match(missing.err, /none\.yml does not exist/)
})
