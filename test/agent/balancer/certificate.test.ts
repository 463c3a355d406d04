import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { watchCertificate } from '../../../packages/base/tls/listener-certificate.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'

test('a certificate that becomes a link to itself is reported', async (t) => {
  const folder = createFolder('certificate')
  const files = { certificateFile: join(folder, 'c.pem'), keyFile: join(folder, 'k.pem') }
  const results: unknown[] = []
  const stop = watchCertificate(files, 5, (result) => results.push(result))
  t.after(() => {
    stop()
    removeFolder(folder)
  })

  symlinkSync(files.certificateFile, files.certificateFile)

  await waitUntil(() => results.length > 0, 'the report')
  await sleep(30)
  assert.equal(results.length, 1)
  assert.match(String(results[0]), /c\.pem/)
})
