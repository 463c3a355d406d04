import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { createAuthority } from '../../support/authority.ts'
import { waitFor } from '../../support/wait-until.ts'
import { createCloudService } from '../orchestration/infrastructure/cloud-service.ts'
import { executionOf, run, startNotifying, untilDeliveries } from './support.ts'

const pause = { type: 'wait', refId: '1', name: 'Pause', waitTime: 0 }
const when = ['pipeline.complete']
const links = { ui: 'console', baseUrl: 'https://cd.example' } as const

interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly isSecure: boolean
  readonly text: string
}

/** @param refuse A status and text for each mail, by its number from 0; undefined: it is taken */
async function startMailServer(
  t: TestContext,
  options: SMTPServerOptions,
  refuse: (number: number) => [number, string] | undefined = () => undefined,
) {
  const mails: Mail[] = []
  let count = 0
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    ...options,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const refusal = refuse(count++)
        if (refusal !== undefined)
          return done(Object.assign(new Error(refusal[1]), { responseCode: refusal[0] }))
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          text: Buffer.concat(chunks).toString(),
        })
        done()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { mails, port: (server.server.address() as AddressInfo).port }
}

async function createIdentity() {
  const authority = await createAuthority('CN=Mail CA')
  const { cert, key } = await authority.issue({
    subject: 'CN=localhost',
    hosts: ['localhost'],
    usage: 'server',
  })
  return { cert, key, authorities: authority.certificate }
}

function email(port: number, more: object = {}) {
  return {
    email: {
      enabled: true,
      host: 'localhost',
      port,
      from: 'Fairlead <cd@shop.example>',
      isTls: false,
      ...more,
    },
  }
}

const login: SMTPServerOptions = {
  onAuth({ username, password }, _session, done) {
    if (username === 'cd' && password === 'mail-password-1') return done(null, { user: username })
    done(new Error('wrong'))
  },
}

test('an e-mail is sent over STARTTLS, after a login', async (t) => {
  const { cert, key, authorities } = await createIdentity()
  const { mails, port } = await startMailServer(t, { cert, key, ...login, authOptional: false })
  const types = email(port, { username: 'cd', password: 'mail-password-1', authorities })
  const backends = await startNotifying(t, { types, links })

  const notification = {
    type: 'email',
    address: 'ops@shop.example, dev@shop.example',
    cc: 'boss@shop.example',
    when,
    customSubject: 'Deployed\r\nBcc: stranger@elsewhere.example',
  }
  const id = await run(backends, { stages: [pause], notifications: [notification] })
  await untilDeliveries(backends, id, { status: 'delivered' })

  const [mail] = mails
  assert.ok(mail)
  assert.ok(mail.isSecure)
  assert.equal(mail.from, 'cd@shop.example')
  assert.deepEqual(mail.to, ['ops@shop.example', 'dev@shop.example', 'boss@shop.example'])
  assert.match(mail.text, /^Subject: Deployed Bcc: stranger@elsewhere\.example\r$/m)
  assert.match(mail.text, /^Message-ID: <[0-9a-f]{32}@fairlead>\r$/m)
  assert.ok(mail.text.includes(`https://cd.example/console/executions/${id}`))
})

test('an e-mail is sent over TLS from the beginning', async (t) => {
  const { cert, key, authorities } = await createIdentity()
  const { mails, port } = await startMailServer(t, { secure: true, cert, key })
  const backends = await startNotifying(t, { types: email(port, { isTls: true, authorities }) })

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'email', address: 'ops@shop.example', when }],
  })
  await untilDeliveries(backends, id, { status: 'delivered' })

  assert.equal(mails.length, 1)
})

test('a certificate of an unknown authority keeps the e-mail back', async (t) => {
  const { cert, key } = await createIdentity()
  const { mails, port } = await startMailServer(t, { secure: true, cert, key })
  const backends = await startNotifying(t, {
    types: email(port, { isTls: true }),
    pauses: { maxAgeMs: 0 },
  })

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'email', address: 'ops@shop.example', when }],
  })
  const [failed] = await untilDeliveries(backends, id, { status: 'failed' })

  assert.match(String(failed?.['reason']), /^The mail server cannot be used/)
  assert.equal(mails.length, 0)
})

test('a password is not sent without TLS', async (t) => {
  let logins = 0
  const { port } = await startMailServer(t, {
    hideSTARTTLS: true,
    onAuth(_auth, _session, done) {
      logins++
      done(null, { user: 'cd' })
    },
  })
  const types = email(port, { username: 'cd', password: 'mail-password-1' })
  const backends = await startNotifying(t, { types, pauses: { maxAgeMs: 0 } })

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'email', address: 'ops@shop.example', when }],
  })
  await untilDeliveries(backends, id, { status: 'failed' })

  assert.equal(logins, 0)
})

test('a mail server that is busy is tried again', async (t) => {
  const { mails, port } = await startMailServer(t, { disabledCommands: ['STARTTLS'] }, (number) =>
    number < 2 ? [451, 'Try again later'] : undefined,
  )
  const backends = await startNotifying(t, { types: email(port) })

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'email', address: 'ops@shop.example', when }],
  })
  const [delivered] = await untilDeliveries(backends, id, { status: 'delivered' })

  assert.equal(delivered?.['attempts'], 3)
  assert.equal(mails.length, 1)
})

test('an e-mail that is refused for good is not tried again', async (t) => {
  const { port } = await startMailServer(t, { disabledCommands: ['STARTTLS'] }, () => [
    550,
    'No such user',
  ])
  const backends = await startNotifying(t, { types: email(port) })

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'email', address: 'nobody@shop.example', when }],
  })
  const [failed] = await untilDeliveries(backends, id, { status: 'failed' })

  assert.equal(failed?.['reason'], 'The mail server answered with 550.')
  assert.equal(failed?.['attempts'], 1)
})

test('a refused login names no password', async (t) => {
  const lines: string[] = []
  const { cert, key, authorities } = await createIdentity()
  const { port } = await startMailServer(t, { cert, key, ...login, authOptional: false })
  const types = email(port, { username: 'cd', password: 'wrong-password-2', authorities })
  const backends = await startNotifying(t, {
    types,
    pauses: { maxAgeMs: 0 },
    log: (line) => lines.push(JSON.stringify(line)),
  })

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'email', address: 'ops@shop.example', when }],
  })
  const [failed] = await untilDeliveries(backends, id, { status: 'failed' })

  assert.match(String(failed?.['reason']), /^The mail server refused the login \(535\)/)
  assert.ok(!lines.join('\n').includes('wrong-password-2'))
})

test('authors of commits that are rolled back get an e-mail, and no reader sees their addresses', async (t) => {
  const { cert, key, authorities } = await createIdentity()
  const { mails, port } = await startMailServer(t, { cert, key })
  const { call } = createCloudService()
  const backends = await startNotifying(t, { types: email(port, { authorities }), others: call })
  const place = { cloudProvider: 'local', account: 'dev', credentials: 'dev', region: 'east' }
  const notifications = [{ type: 'email', address: 'authors', when: ['rollback'] }]
  const runOf = async (stage: object, trigger: object = {}) => {
    const id = await run(backends, {
      notifications,
      stages: [{ refId: '1', ...place, ...stage }],
      trigger: { type: 'git', user: 'hook', ...trigger },
    })
    await waitFor(
      async () => {
        const { status } = await executionOf(backends, id)
        return status === 'SUCCEEDED' ? true : undefined
      },
      `the success of ${JSON.stringify(stage)}`,
    )
    return id
  }
  const deploy = (imageId: string, ...authors: object[]) => {
    const capacity = { min: 1, max: 1, desired: 1 }
    const cluster = { ...place, application: 'shop', stack: 'main', imageId, capacity }
    return runOf({ type: 'deploy', clusters: [cluster] }, { authors })
  }
  await deploy('shop:1', { name: 'Eve', email: 'eve@shop.example' })
  const bad = await deploy(
    'shop:2',
    { name: 'Ann Archer', email: 'Ann@shop.example' },
    { name: 'Bob', email: '7+bob@users.noreply.example', login: 'bob' },
  )
  const back = await runOf({
    type: 'rollbackServerGroup',
    rollbackType: 'EXPLICIT',
    reason: 'slow',
    rollbackContext: {
      rollbackServerGroupName: 'shop-main-v001',
      restoreServerGroupName: 'shop-main-v000',
    },
  })
  const [delivery] = await untilDeliveries(backends, back, { status: 'delivered' })
  assert.deepEqual(
    mails.map(({ to }) => to),
    [['ann@shop.example']],
  )
  assert.equal(delivery?.['address'], 'authors')
  const shown = await executionOf(backends, bad)
  assert.ok(!JSON.stringify(shown).includes('shop.example'), JSON.stringify(shown))
  const [notice] = shown['systemNotifications'] as { message: string }[]
  assert.match(notice?.message ?? '', /^shop:2 was rolled back to shop:1 in dev: slow$/)

  const found = async (...keys: string[]) => {
    const authors = encodeURIComponent(keys.join('\n'))
    const path = `/applications/*/pipelines/search?authors=${authors}`
    return ((await backends.ask('orca', 'GET', path)).body as { id: string }[]).map(({ id }) => id)
  }
  for (const keys of [['ann'], ['ann archer', 'ann@shop.example'], ['BOB']])
    assert.deepEqual(await found(...keys), [bad], keys.join())
  assert.deepEqual(await found('an'), [])
})
