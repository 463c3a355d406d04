/** The command line's explanation of an access, with a gateway that runs. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { loadConfig } from '../../packages/app/config/config.ts'
import { explainAccess } from '../../packages/app/doctor/explain-access.ts'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { temporaryFolder } from '../audit/support.ts'
import { basic } from '../login/support.ts'
import { runGateway } from '../support/gateway.ts'

test('an access is explained by demand, roles and rule', async (t) => {
  const settings = { fairlead: { admin: { password: 'correct horse' } } }
  const { url, dataDir } = await runGateway(t, settings, { embedded: true })
  const users = openUsers(dataDir)
  await users.add('rita', 'correct horse', ['readers'])
  users.close()
  await fetch(`${url}/auth/user`, { headers: basic('rita', 'correct horse') })
  const home = join(dirname(dataDir), 'command')
  mkdirSync(join(home, 'config'), { recursive: true })
  writeFileSync(
    join(home, 'config', 'gate.yml'),
    JSON.stringify({ ...settings, data: { dir: dataDir } }),
  )
  const { config } = await loadConfig({ cwd: home, env: {}, homeDir: home })
  const ask = (operation: string, username = 'rita') =>
    explainAccess(config, { username, operation, application: 'web' })

  const refused = await ask('syncUsingPOST')
  assert.equal(refused.decision, 'denied')
  assert.match(
    refused.lines.join('\n'),
    /readers \(the last login\)[\s\S]*no {2}an administrator: the user has no role/,
  )
  const open = await ask('savePipelineUsingPOST')
  assert.equal(open.decision, 'allowed')
  assert.match(
    open.lines.join('\n'),
    /the application is unknown, and unknown applications are open/,
  )
  assert.match(
    (await ask('savePipelineUsingPOST', 'nobody')).lines.join('\n'),
    /does not know the user "nobody"/,
  )
  const creation = (await ask('POST /tasks')).lines.join('\n')
  assert.match(
    creation,
    /yes CREATE for the application web: there is no such application; creation is not restricted/,
  )
  assert.match(creation, /may be added: --account NAME: an account that a job names/)
  assert.match(creation, /Checked by gateway: the gateway refuses it before anything is passed on/)
  const unnamed = await ask('GET /v3/builds/{buildMaster}/jobs')
  assert.equal(unnamed.decision, 'depends')
  assert.match(unnamed.lines.join('\n'), /to be added: --build-service NAME: the build service/)
  await assert.rejects(ask('unheardOf'), /There is no operation "unheardOf"\. Did you mean/)
})

test('while no permission service decides, only what needs an administrator is denied', async (t) => {
  const home = temporaryFolder(t)
  mkdirSync(join(home, 'config'))
  const unreachable = { baseUrl: 'http://127.0.0.1:1' }
  const off = { fiat: { enabled: false }, services: { fiat: unreachable } }
  const without = { services: { fiat: { enabled: false } } }
  for (const settings of [off, without]) {
    writeFileSync(join(home, 'config', 'gate.yml'), JSON.stringify(settings))
    const { config } = await loadConfig({ cwd: home, env: {}, homeDir: home })
    const ask = (operation: string) =>
      explainAccess(config, { username: 'rita', operation, application: 'web' })
    const denied = await ask('syncUsingPOST')
    assert.equal(denied.decision, 'denied')
    assert.match(
      denied.lines.join('\n'),
      /no {2}an administrator: there is no permission service, so no user is/,
    )
    assert.equal((await ask('savePipelineUsingPOST')).decision, 'allowed')
  }
})
