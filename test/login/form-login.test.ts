/** The login with the form, from the first redirect to the web UI, and the session that comes of it. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { createClock } from '../sessions/support.ts'
import { runGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { Browser, pageAccept, type VisitInit } from './browser.ts'
import { basic, formSettings, gatewayUrl, startGuarded, startPath, ui } from './support.ts'

function sessionCount(dataDir: string): number {
  const db = new DatabaseSync(join(dataDir, 'sessions.db'), { readOnly: true })
  const row = db.prepare('SELECT count(*) AS count FROM sessions_2').get()
  db.close()
  return Number(row?.['count'])
}

test('auth-scenario 1: an anonymous /auth/user is empty and stores nothing', async (t) => {
  const { open, dataDir } = await startGuarded(t)
  const answer = await open().visit('/auth/user')
  assert.deepEqual([answer.status, answer.text, answer.cookies], [200, '', []])
  assert.equal(answer.headers.get('content-length'), '0')
  assert.equal(sessionCount(dataDir), 0)
})

test('auth-scenario 2: an unknown session identifier is nobody and is not adopted', async (t) => {
  const { open } = await startGuarded(t)
  for (const value of ['A'.repeat(43), 'x', '', '%00', 'A'.repeat(5000)]) {
    const browser = open()
    browser.plant('SESSION', value)
    assert.equal((await browser.visit('/auth/user')).text, '')
    assert.equal((await browser.visit('/credentials')).status, 302)
    await browser.login('admin', 'secret')
    assert.notEqual(browser.session, value)
  }
})

test('auth-scenario 14: the UI needs only cookies and redirects', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  assert.equal(await browser.user(), undefined)

  const start = await browser.visit(startPath)
  assert.deepEqual([start.status, start.location], [302, `${gatewayUrl}/login`])
  assert.match(
    start.cookies.join(),
    /^SESSION_TARGET=[\w-]+; Max-Age=3600; Path=\/; Secure; HttpOnly; SameSite=None$/,
  )

  const form = await browser.visit('/login')
  assert.equal(form.status, 200)
  assert.equal(form.headers.get('content-type'), 'text/html;charset=UTF-8')
  assert.match(form.text, /<form method="post" action="\/login">/)
  assert.match(
    form.text,
    /name="username"[^>]*autocomplete="username"|autocomplete="username"[^>]*name="username"/,
  )
  assert.match(form.text, /name="password" type="password"/)

  const login = await browser.login('admin', 'secret')
  assert.deepEqual([login.status, login.location], [302, gatewayUrl + startPath])
  assert.match(login.cookies[0] as string, /^SESSION=[\w-]{43}; Path=\/; Secure; HttpOnly$/)

  const back = await browser.visit(startPath)
  assert.deepEqual([back.status, back.location, back.text], [302, `${ui}/#/search`, ''])
  assert.equal((await browser.user())?.['username'], 'admin')
})

test('auth-scenario 11: a wrong password keeps the form and the address', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  await browser.visit(startPath)

  const refused = await browser.login('admin', 'wrong')
  assert.deepEqual([refused.status, refused.location], [302, `${gatewayUrl}/login?error`])
  assert.match(
    (await browser.visit('/login?error')).text,
    /role="alert">User name or password is wrong/,
  )
  assert.equal(await browser.user(), undefined)

  assert.equal((await browser.login('admin', 'secret')).location, gatewayUrl + startPath)
})

test('auth-scenario 178: an incomplete form is a wrong password', async (t) => {
  const { open } = await startGuarded(t)
  const bodies: VisitInit[] = [
    {},
    { body: new URLSearchParams({ username: 'admin' }) },
    { body: new URLSearchParams({ password: 'secret' }) },
    { body: new URLSearchParams({ username: 'admin', password: '' }) },
    {
      body: JSON.stringify({ username: 'admin', password: 'secret' }),
      headers: { 'content-type': 'application/json' },
    },
    {
      body: new Uint8Array([0xff, 0xfe, 0x00]),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    },
  ]
  for (const body of bodies) {
    const browser = open()
    const answer = await browser.visit('/login', { method: 'POST', ...body })
    assert.deepEqual([answer.status, answer.location], [302, `${gatewayUrl}/login?error`])
    assert.equal(await browser.user(), undefined)
  }
  assert.equal(
    (
      await open().visit('/login', {
        method: 'POST',
        body: new URLSearchParams({ password: 'x'.repeat(20_000) }),
      })
    ).status,
    413,
  )
})

test('auth-scenario 159: a login reads its parameters from the query as well, with POST', async (t) => {
  const { open } = await startGuarded(t)
  const visitor = open()
  assert.equal((await visitor.visit('/login?username=admin&password=secret')).status, 200)
  assert.equal(await visitor.user(), undefined)
  for (const [query, init, location] of [
    ['username=admin&password=secret', {}, '/'],
    ['username=admin', { body: new URLSearchParams({ password: 'secret' }) }, '/'],
    ['username=admin&password=wrong', {}, '/login?error'],
  ] as const) {
    const answer = await open().visit(`/login?${query}`, { method: 'POST', ...init })
    assert.equal(answer.location, `${gatewayUrl}${location}`, query)
  }
})

test('auth-scenario 155: the user name is trimmed, the password is not', async (t) => {
  const { open } = await startGuarded(t)
  assert.equal((await open().login(' admin ', 'secret')).location, `${gatewayUrl}/`)
  assert.equal((await open().login('admin', 'secret ')).location, `${gatewayUrl}/login?error`)
})

test('auth-scenario 257: nothing that a stranger sends appears in the pages', async (t) => {
  const { open } = await startGuarded(t)
  for (const path of [
    '/login?error=%3Cscript%3Ex',
    '/login?logout=%3Cscript%3Ex',
    '/auth/loggedOut?x=%3Cscript%3Ex',
    '/auth/redirect?to=%3Cscript%3Ex',
  ]) {
    assert.doesNotMatch(
      (await open().visit(path, { headers: { accept: 'text/html' } })).text,
      /<script>x|%3Cscript/i,
      path,
    )
  }
})

test('the login page allows its own script only', async (t) => {
  const { open } = await startGuarded(t)
  const page = await open().visit('/login?logout')
  const policy = page.headers.get('content-security-policy') as string
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; frame-ancestors 'none'; script-src 'sha256-[^']+'; form-action 'self' https:\/\/deck\.example\.com$/,
  )
  assert.equal(page.headers.get('x-frame-options'), 'DENY')
  assert.match(page.text, /role="status">You are signed out/)
})

test('auth-scenario 57: a saved address keeps its query', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  await browser.visit('/credentials?expand=true')
  assert.equal(
    (await browser.login('admin', 'secret')).location,
    `${gatewayUrl}/credentials?expand=true`,
  )
  assert.equal((await browser.visit('/credentials?expand=true')).status, 200)
})

test('auth-scenario 58: what scripts ask for does not replace the saved address', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  await browser.visit(startPath)
  await browser.visit('/applications', { headers: { 'x-requested-with': 'XMLHttpRequest' } })
  await browser.visit('/applications', { headers: { accept: 'application/json' } })
  assert.equal((await browser.login('admin', 'secret')).location, gatewayUrl + startPath)
})

test('auth-scenario 59: a POST without login is neither forwarded nor repeated', async (t) => {
  const orca = await startUpstream(t)
  const { open } = await startGuarded(t, { services: { orca: { baseUrl: orca.url } } })
  const browser = open()
  const refused = await browser.visit('/tasks', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  assert.deepEqual(
    [refused.status, refused.location, refused.cookies],
    [302, `${gatewayUrl}/login`, []],
  )
  assert.equal((await browser.login('admin', 'secret')).location, `${gatewayUrl}/`)
  assert.equal(orca.requests.length, 0)
})

test('auth-scenario 61: a login without saved address leads to the UI', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  assert.equal((await browser.login('admin', 'secret')).location, `${gatewayUrl}/`)
  assert.equal((await browser.visit('/')).location, ui)
})

test('auth-scenario 62: the context path is in pages, cookies and addresses', async (t) => {
  const { open } = await startGuarded(t, {
    server: { 'forward-headers-strategy': 'native', servlet: { 'context-path': '/api/v1' } },
  })
  const browser = open()
  const start = await browser.visit(startPath)
  assert.equal(start.location, `${gatewayUrl}/api/v1/login`)
  assert.match(start.cookies[0] as string, /; Path=\/api\/v1\/;/)
  assert.match((await browser.visit('/login')).text, /action="\/api\/v1\/login"/)
  assert.equal(
    (await browser.login('admin', 'secret')).location,
    `${gatewayUrl}/api/v1${startPath}`,
  )
  const logout = await browser.visit('/auth/logout')
  assert.equal(logout.location, `${gatewayUrl}/api/v1/auth/loggedOut`)
  assert.match(logout.cookies[0] as string, /; Path=\/api\/v1\/;/)
})

test('auth-scenario 60: a forged Host never becomes the place where the login leads', async (t) => {
  const { open, url } = await startGuarded(t, { server: {} })
  const forged = await new Promise<{ location: string | undefined; cookie: string }>(
    (resolve, reject) => {
      httpRequest(
        url + startPath,
        { headers: { host: 'evil.com', accept: pageAccept } },
        (answer) => {
          answer.resume()
          const cookie = String(answer.headers['set-cookie']?.[0]).split(';')[0] as string
          resolve({ location: answer.headers.location, cookie })
        },
      )
        .on('error', reject)
        .end()
    },
  )
  const browser = open()
  browser.plant('SESSION_TARGET', forged.cookie.replace('SESSION_TARGET=', ''))
  assert.equal((await browser.login('admin', 'secret')).location, url + startPath)
})

test('auth-scenario 65: forwarded headers of a stranger decide nothing', async (t) => {
  const { url, open } = await startGuarded(t, {
    server: {
      'forward-headers-strategy': 'native',
      tomcat: { remoteip: { 'internal-proxies': '10\\.9\\.9\\.9' } },
    },
  })
  const answer = await open().visit(startPath)
  assert.equal(answer.location, `${url}/login`)
  assert.doesNotMatch(answer.cookies[0] as string, /Secure/)
})

test('auth-scenario 66: a planted session is dead after the login of the victim', async (t) => {
  const { open } = await startGuarded(t)
  const attacker = open()
  await attacker.login('admin', 'secret')
  const victim = open()
  victim.plant('SESSION', attacker.session as string)

  await victim.login('admin', 'secret')

  assert.notEqual(victim.session, attacker.session)
  assert.equal(await attacker.user(), undefined)
  assert.equal((await victim.user())?.['username'], 'admin')
})

test('auth-scenario 67: a value that a browser brings never becomes a session', async (t) => {
  const { open } = await startGuarded(t)
  const chosen = 'B'.repeat(43)
  const browser = open()
  browser.plant('SESSION', chosen)
  await browser.login('admin', 'secret')
  assert.notEqual(browser.session, chosen)
  browser.plant('SESSION', chosen)
  assert.equal(await browser.user(), undefined)
})

test('a session cookie with a prefix is one that browsers accept', async (t) => {
  for (const [name, path] of [
    ['__Host-SID', '/'],
    ['__Secure-SID', '/gate/'],
  ] as const) {
    const { open } = await startGuarded(t, {
      server: {
        'forward-headers-strategy': 'native',
        servlet: { 'context-path': '/gate', session: { cookie: { name } } },
      },
    })
    const browser = open()
    const before = await browser.visit(startPath)
    const after = await browser.login('admin', 'secret')
    const set = [...before.cookies, ...after.cookies].filter((cookie) => cookie.startsWith('__'))
    assert.notEqual(browser.valueOf(name), undefined)
    for (const cookie of set) {
      assert.match(cookie, /; Secure(?:;|$)/)
      assert.ok(cookie.includes(`; Path=${path};`), cookie)
    }
    assert.equal((await browser.user())?.['username'], 'admin')
  }
})

test('auth-scenario 68: two browsers of one user have two sessions', async (t) => {
  const { open } = await startGuarded(t)
  const browsers = [open(), open()]
  for (const browser of browsers) await browser.login('admin', 'secret')
  assert.notEqual(browsers[0]?.session, browsers[1]?.session)
  for (const browser of browsers) assert.equal((await browser.user())?.['username'], 'admin')
})

test('auth-scenario 75: a session lives as long as it is used', async (t) => {
  const clock = createClock(Date.now())
  const { open } = await startGuarded(
    t,
    { server: { ...(formSettings['server'] as object), session: { timeoutInSeconds: 2 } } },
    { now: clock.now },
  )
  const browser = open()
  await browser.login('admin', 'secret')
  for (let second = 0; second < 5; second++) {
    clock.nowMs += 1000
    assert.ok(await browser.user())
  }
  clock.nowMs += 3000
  assert.equal(await browser.user(), undefined)
})

test('auth-scenario 72: without a session store, open paths and health answer', async (t) => {
  const clouddriver = await startUpstream(t)
  const { open, dataDir } = await startGuarded(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
  })
  const browser = open()
  await browser.login('admin', 'secret')
  const fresh = open()
  fresh.plant('SESSION', 'C'.repeat(43))
  const db = new DatabaseSync(join(dataDir, 'sessions.db'))
  db.exec('ALTER TABLE sessions_2 RENAME TO gone')

  for (const path of ['/credentials', '/auth/user', '/networks']) {
    const answer = await fresh.ask(path)
    assert.deepEqual([answer.status, answer.cookies], [503, []], path)
    assert.equal(JSON.parse(answer.text)['status'], 503)
  }
  assert.equal((await open().visit('/auth/user')).status, 200)
  assert.notEqual((await fresh.visit('/health')).status, 503)
  assert.equal((await open().login('admin', 'secret')).status, 503)
  assert.equal(clouddriver.requests.length, 0)

  db.exec('ALTER TABLE gone RENAME TO sessions_2')
  db.close()
  assert.equal((await browser.user())?.['username'], 'admin')
})

test('sessions survive a restart of the gateway', async (t) => {
  const first = await startGuarded(t)
  const browser = first.open()
  await browser.login('admin', 'secret')
  const { session } = browser
  await first.stop()

  const { open } = await startGuarded(t, {}, { dataDir: first.dataDir })

  const returning = open()
  returning.plant('SESSION', session as string)
  assert.equal((await returning.user())?.['username'], 'admin')
})

test('a new configured password ends old sessions', async (t) => {
  const first = await startGuarded(t)
  const browser = first.open()
  await browser.login('admin', 'secret')
  const { session } = browser
  await first.stop()

  const { open } = await startGuarded(
    t,
    { spring: { security: { user: { name: 'admin', password: 'other' } } } },
    { dataDir: first.dataDir },
  )

  const returning = open()
  returning.plant('SESSION', session as string)
  assert.equal(await returning.user(), undefined)
})

test('changes of a stored user end the sessions', async (t) => {
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password: 'correct horse' } },
  })
  const users = openUsers(dataDir)
  t.after(() => users.close())
  await users.add('alice', 'battery staple', ['dev'])
  const changes: [() => void | Promise<void>, password: string, basicStatus: number][] = [
    [() => users.setRoles('alice', ['ops']), 'battery staple', 200],
    [() => users.setPassword('alice', 'correct battery'), 'battery staple', 302],
    [() => users.remove('alice'), 'correct battery', 302],
  ]
  for (const [change, password, basicStatus] of changes) {
    const browser = new Browser(url)
    const asScript = () =>
      new Browser(url).visit('/auth/user', { headers: basic('alice', password) })
    await browser.login('Alice', password)
    assert.equal((await browser.user())?.['username'], 'alice')
    assert.equal((await asScript()).status, 200)
    await change()
    // Another process made the change; the gateway looks for such changes ten times a second.
    await wait(150)
    assert.equal(await browser.user(), undefined)
    assert.equal((await asScript()).status, basicStatus)
  }
  assert.equal((await new Browser(url).login('admin', 'correct horse')).location, `${url}/`)
})

test('after ten wrong passwords a user has to wait', async (t) => {
  const clock = createClock(Date.now())
  const { open } = await startGuarded(t, {}, { now: clock.now })
  for (let attempt = 0; attempt < 10; attempt++) await open().login('admin', `wrong${attempt}`)

  const stopped = await open().login('admin', 'secret')
  assert.equal(stopped.location, `${gatewayUrl}/login?error=wait&minutes=2`)
  assert.match((await open().visit('/login?error=wait')).text, /Too many wrong passwords/)
  const script = await open().visit('/credentials', { headers: basic('admin', 'secret') })
  assert.equal(script.status, 429)
  assert.ok(Number(script.headers.get('retry-after')) > 0)

  clock.nowMs += 15 * 60_000
  assert.equal((await open().login('admin', 'secret')).location, `${gatewayUrl}/`)
})

test('auth-scenario 176: HTTP Basic logs a script in for one request', async (t) => {
  const { open } = await startGuarded(t)
  const answer = await open().visit('/auth/user', { headers: basic('admin', 'secret') })
  const user = JSON.parse(answer.text) as Record<string, unknown>
  assert.deepEqual(
    [answer.status, user['username'], user['email'], user['roles'], answer.cookies],
    [200, 'admin', 'admin', ['USER'], []],
  )
})

test('auth-scenario 177: wrong HTTP Basic leads to the login', async (t) => {
  const { open } = await startGuarded(t)
  for (const path of ['/auth/user', '/credentials']) {
    for (const headers of [
      basic('admin', 'wrong'),
      basic('nobody', 'secret'),
      { authorization: 'Basic !' },
    ]) {
      const answer = await open().visit(path, { headers })
      assert.deepEqual([answer.status, answer.location], [302, `${gatewayUrl}/login`], path)
    }
  }
})

test('a probe of the root is redirected, other programs get 401', async (t) => {
  const { open } = await startGuarded(t)
  const headers = { accept: '*/*', 'sec-fetch-mode': '', 'user-agent': 'kube-probe/1.32' }
  const probe = await open().visit('/', { headers })
  assert.deepEqual([probe.status, probe.location, probe.cookies], [302, `${gatewayUrl}/login`, []])
  assert.equal((await open().visit('/', { method: 'POST', headers })).status, 401)
  assert.equal((await open().visit('/applications', { headers })).status, 401)
  assert.equal(
    (await open().visit('/', { headers: { ...headers, ...basic('admin', 'wrong') } })).status,
    401,
  )
})

test('a program with wrong HTTP Basic gets 401', async (t) => {
  const { open } = await startGuarded(t)
  for (const path of ['/auth/user', '/credentials', '/auth/redirect?to=x']) {
    for (const headers of [
      basic('admin', 'wrong'),
      basic('nobody', 'secret'),
      { authorization: 'Basic !' },
    ]) {
      const answer = await open().visit(path, {
        headers: { ...headers, accept: '*/*', 'sec-fetch-mode': '' },
      })
      assert.deepEqual([answer.status, answer.location, answer.cookies], [401, null, []], path)
      assert.match(answer.headers.get('www-authenticate') ?? '', /Basic realm="Fairlead"/)
      const { code, message } = JSON.parse(answer.text) as Record<string, string>
      assert.deepEqual(
        [code, message],
        ['CREDENTIALS_REFUSED', 'The user name or the password is wrong.'],
      )
    }
  }
})

test('credentials of a kind that no login method reads are 401', async (t) => {
  const { open } = await startGuarded(t)
  for (const authorization of ['Bearer x', 'Negotiate x', 'x']) {
    const answer = await open().visit('/credentials', { headers: { authorization, accept: '*/*' } })
    assert.equal(answer.status, 401)
    assert.match(
      (JSON.parse(answer.text) as { message: string }).message,
      /^No login method of this gateway reads/,
    )
  }
})

test('auth-scenario 77: HTTP Basic starts no session', async (t) => {
  const { open, dataDir } = await startGuarded(t)
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      open().visit('/auth/user', { headers: basic('admin', 'secret') }),
    ),
  )
  for (const { status, cookies } of answers) assert.deepEqual([status, cookies], [200, []])
  assert.equal(sessionCount(dataDir), 0)
})

test('auth-scenario 193: Authorization headers that make no sense are nobody', async (t) => {
  const { open } = await startGuarded(t)
  for (const authorization of [
    'Bearer',
    'Bearer ',
    'bearer T',
    'Negotiate x',
    'x',
    'Basic dXNlcg==, Bearer y',
  ]) {
    assert.equal(
      (await open().visit('/credentials', { headers: { authorization } })).status,
      302,
      authorization,
    )
  }
})

test('auth-scenario 195: a command line client logs in with the form', async (t) => {
  const { open } = await startGuarded(t)
  const client = open()
  await client.login('admin', 'secret')
  assert.equal((await client.visit('/version')).status, 200)
})

test('auth-scenario 196: a command line client with HTTP Basic asks for the version', async (t) => {
  const { open } = await startGuarded(t)
  assert.equal((await open().visit('/version', { headers: basic('admin', 'secret') })).status, 200)
})

test('auth-scenario 248: fifty first requests share and store nothing', async (t) => {
  const { open, dataDir } = await startGuarded(t)
  const browsers = Array.from({ length: 50 }, open)
  const answers = await Promise.all(browsers.map((browser) => browser.visit(startPath)))
  assert.ok(answers.every(({ status }) => status === 302))
  assert.equal(new Set(browsers.map(({ cookie }) => cookie)).size, 50)
  assert.equal(sessionCount(dataDir), 0)
})

test('auth-scenario 249: of two logins at once each session has one user', async (t) => {
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password: 'correct horse' } },
  })
  const users = openUsers(dataDir)
  await users.add('alice', 'battery staple', [])
  users.close()
  const browser = new Browser(url)
  await browser.visit('/credentials')

  const logins = await Promise.all([
    browser.login('admin', 'correct horse'),
    browser.login('alice', 'battery staple'),
  ])

  const names: unknown[] = []
  for (const { cookies } of logins) {
    const other = new Browser(url)
    other.plant('SESSION', /SESSION=([^;]+)/.exec(cookies[0] as string)?.[1] as string)
    names.push((await other.user())?.['username'])
  }
  assert.deepEqual(names, ['admin', 'alice'])
})

test('auth-scenario 263: no password and no session identifier reaches the log', async (t) => {
  const lines: string[] = []
  const { open } = await startGuarded(
    t,
    {},
    { log: (line) => void lines.push(JSON.stringify(line)) },
  )
  const browser = open()
  await browser.visit(startPath)
  const before = browser.session as string
  await browser.login('admin', 'wrong-secret')
  await browser.login('admin', 'secret')
  await browser.visit(startPath)
  await open().visit('/auth/user', { headers: basic('admin', 'secret') })
  await open().visit('/auth/user', { headers: basic('admin', 'wrong-secret') })
  await browser.visit('/auth/logout')

  const log = lines.join('\n')
  assert.ok(lines.length > 5)
  for (const secret of [
    'secret',
    before,
    browser.session as string,
    basic('admin', 'secret').authorization as string,
  ]) {
    assert.ok(secret === undefined || !log.includes(secret))
  }
})
