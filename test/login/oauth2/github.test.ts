/** Providers that speak OAuth 2.0 alone, and the organisation that GitHub users may have to belong to. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { GatewaySettings } from '../../support/gateway.ts'
import { type GithubLike, startGithubLike } from '../../support/github-like.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { assertRefused, logIn, startOAuth2 } from './support.ts'

function settings({ url }: GithubLike, organization?: string): GatewaySettings {
  const provider = {
    'authorization-uri': `${url}/login/oauth/authorize`,
    'token-uri': `${url}/login/oauth/access_token`,
    'user-info-uri': `${url}/user`,
  }
  const registration = {
    'client-id': 'gw',
    'client-secret': 's3cret',
    ...(organization !== undefined && { 'provider-requirements': { organization } }),
  }
  return {
    spring: {
      security: {
        oauth2: {
          client: { registration: { github: registration }, provider: { github: provider } },
        },
      },
    },
  }
}

test('auth-scenario 86: the preset of GitHub maps login and name', async (t) => {
  const github = await startGithubLike(t)
  const browser = (await startOAuth2(t, settings(github))).open()

  const back = await logIn(browser)

  assert.equal(back.status, 302, back.text)
  const { username, firstName, lastName, email } = (await browser.user()) ?? {}
  assert.deepEqual(
    { username, firstName, lastName, email },
    { username: 'al', firstName: null, lastName: 'A L', email: null },
  )
  assert.deepEqual(
    github.requests.map(({ path }) => path),
    ['/login/oauth/authorize', '/login/oauth/access_token', '/user'],
  )
})

test('a refusal with status 200 is recognized', async (t) => {
  const github = await startGithubLike(t)
  const lines: string[] = []
  const browser = (
    await startOAuth2(t, settings(github), { log: (line) => lines.push(JSON.stringify(line)) })
  ).open()
  const start = await browser.visit('/login')
  const state = new URL(start.location ?? '').searchParams.get('state')

  await assertRefused(
    browser,
    await browser.visit(`/login/oauth2/code/github?code=bad-code&state=${state}`),
  )

  assert.ok(lines.some((line) => line.includes('bad_verification_code')))
  assert.ok(!lines.join('\n').includes('bad-code"'))
})

const memberships: [name: string, status: 302 | 401, change: (github: GithubLike) => void][] = [
  ['the list has it', 302, () => {}],
  [
    'the second page of the list has it',
    302,
    (github) => {
      github.organizations = [['other'], ['more', 'acme']]
    },
  ],
  [
    'the list has it in other letters',
    401,
    (github) => {
      github.organizations = [['Acme']]
    },
  ],
  [
    'the list is empty',
    401,
    (github) => {
      github.organizations = [[]]
    },
  ],
  [
    'the list cannot be had',
    401,
    (github) => {
      github.organizations = [new Reply(500)]
    },
  ],
  [
    'the list is none',
    401,
    (github) => {
      github.organizations = [new Reply(200, { login: 'acme' })]
    },
  ],
  [
    'the list holds nothing',
    401,
    (github) => {
      github.organizations = [new Reply(200, [null, 'acme'])]
    },
  ],
  [
    'nothing says where the list is',
    401,
    (github) => {
      github.person = { ...github.person, organizations_url: undefined }
    },
  ],
]
for (const [name, status, change] of memberships) {
  test(`auth-scenario 91: a required organisation, ${name}: ${status}`, async (t) => {
    const github = await startGithubLike(t)
    change(github)
    const browser = (await startOAuth2(t, settings(github, 'acme'))).open()

    const answer = await logIn(browser)

    if (status === 302) assert.equal(answer.status, 302, answer.text)
    else await assertRefused(browser, answer)
  })
}

test('auth-scenario 91: the token goes to no other host', async (t) => {
  const github = await startGithubLike(t)
  const thief = await startUpstream(t, { 'GET /orgs': [{ login: 'acme' }] })
  github.person = { ...github.person, organizations_url: `${thief.url}/orgs` }
  const browser = (await startOAuth2(t, settings(github, 'acme'))).open()

  await assertRefused(browser, await logIn(browser))

  assert.equal(thief.requests.length, 0)
})

test('the next page is read from the same host only', async (t) => {
  const github = await startGithubLike(t)
  const thief = await startUpstream(t, { 'GET /orgs': [{ login: 'acme' }] })
  github.organizations = [new Reply(200, [], { link: `<${thief.url}/orgs>; rel="next"` })]
  const browser = (await startOAuth2(t, settings(github, 'acme'))).open()

  await assertRefused(browser, await logIn(browser))

  assert.equal(thief.requests.length, 0)
})

test('the keys of early releases require an organisation, too', async (t) => {
  const github = await startGithubLike(t)
  const { url } = github
  const older = (organization: string): GatewaySettings => ({
    security: {
      oauth2: {
        provider: 'GITHUB',
        client: {
          clientId: 'gw',
          clientSecret: 's3cret',
          userAuthorizationUri: `${url}/login/oauth/authorize`,
          accessTokenUri: `${url}/login/oauth/access_token`,
        },
        resource: { userInfoUri: `${url}/user` },
        providerRequirements: { type: 'github', organization },
      },
    },
  })
  const [member, stranger] = await Promise.all([
    startOAuth2(t, older('acme')),
    startOAuth2(t, older('other')),
  ])

  assert.equal((await logIn(member.open())).status, 302)
  await assertRefused(stranger.open(), await logIn(stranger.open()))
})
