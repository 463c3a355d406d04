/** API tokens of users whose accounts end in the directory. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Attribute, Change, Client, Control } from 'ldapts'
import { isDisabled } from '../../../packages/gateway/login/ldap/account-states.ts'
import { createClock } from '../../sessions/support.ts'
import { manager, root } from '../../support/directory.ts'
import { createToken, withToken } from '../tokens/support.ts'
import { pattern, search, startLdap } from './support.ts'

const tokenSettings = { 'api-tokens': { enabled: true } }
const minuteMs = 60_000

for (const [way, ldap] of [
  ['search', search],
  ['pattern', { ...pattern, managerDn: manager.dn, managerPassword: manager.password }],
] as const) {
  test(`a removed account ends its API tokens within a minute, found by ${way}`, async (t) => {
    const clock = createClock(Date.now())
    const gateway = await startLdap(t, ldap, { settings: tokenSettings, now: clock.now })
    if (gateway === undefined) return
    const browser = gateway.open()
    await browser.login('alice', 'pw')
    const { token } = await createToken(browser, { name: 'ci' })
    const status = async () => (await withToken(gateway.url, token).ask('/credentials')).status
    assert.notEqual(await status(), 401)

    await gateway.directory.stop()
    clock.nowMs += 2 * minuteMs
    assert.notEqual(await status(), 401, 'the last answer counts')
    clock.nowMs += 60 * minuteMs
    assert.equal(await status(), 503)
    await gateway.directory.start()
    assert.notEqual(await status(), 503)

    const client = new Client({ url: gateway.directory.url.replace(`/${root}`, '') })
    await client.bind(manager.dn, manager.password)
    await client.del(`uid=alice,ou=users,${root}`)
    await client.unbind()
    clock.nowMs += minuteMs
    assert.equal(await status(), 401)
  })
}

test('accounts that a directory has disabled are recognized', () => {
  const nowMs = Date.parse('2026-11-23T00:00:00Z')
  const at = (time: string) => String((BigInt(Date.parse(time)) + 11_644_473_600_000n) * 10_000n)
  const entries: [attributes: Record<string, string>, expected: boolean][] = [
    [{}, false],
    [{ userAccountControl: '512' }, false],
    [{ userAccountControl: '514' }, true],
    [{ useraccountcontrol: '66050' }, true],
    [{ accountExpires: '0' }, false],
    [{ accountExpires: '9223372036854775807' }, false],
    [{ accountExpires: at('2026-11-22T00:00:00Z') }, true],
    [{ accountExpires: at('2026-11-24T00:00:00Z') }, false],
    [{ nsAccountLock: 'TRUE' }, true],
    [{ pwdAccountLockedTime: '000001010000Z' }, true],
    [{ pwdAccountLockedTime: '20261122000000Z' }, false],
    [{ shadowExpire: '1' }, true],
    [{ shadowExpire: '-1' }, false],
  ]
  for (const [attributes, expected] of entries)
    assert.equal(
      isDisabled({ dn: 'cn=alice', ...attributes }, nowMs),
      expected,
      JSON.stringify(attributes),
    )
})

const policies = {
  config: `moduleload ppolicy
overlay ppolicy
ppolicy_default "cn=policy,${root}"`,
  ldif: `dn: cn=policy,${root}
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdMustChange: TRUE
pwdLockout: TRUE
pwdMaxFailure: 3
pwdMaxAge: 1000000`,
}
/** Attributes that the overlay keeps, and the reason in the log. */
const states: [attributes: Record<string, string>, reason: RegExp][] = [
  [{ pwdReset: 'TRUE' }, /has to be changed before the first login/],
  [{ pwdAccountLockedTime: '000001010000Z' }, /password is wrong/],
  [{ pwdChangedTime: '20200101000000Z' }, /password is wrong/],
]

for (const [way, ldap] of [
  ['found by the manager', search],
  ['found by its name', pattern],
  [
    'found by its name and read by the manager',
    { ...pattern, managerDn: manager.dn, managerPassword: manager.password },
  ],
] as const) {
  test(`an account with a password policy, ${way}, logs in while its state allows it`, async (t) => {
    const gateway = await startLdap(t, ldap, { directory: policies })
    if (gateway === undefined) return
    const logIn = async () => {
      const browser = gateway.open()
      await browser.login('bob', 'bobs word')
      return (await browser.user())?.['username']
    }
    assert.equal(await logIn(), 'bob')
    for (const [attributes, reason] of states) {
      await setState(gateway.directory.url, attributes)
      assert.equal(await logIn(), undefined, JSON.stringify(attributes))
      const line = gateway.lines.findLast(({ msg }) => msg === 'the directory refused a login')
      assert.match(String(line?.['reason']), reason)
    }
    await setState(gateway.directory.url, {})
    assert.equal(await logIn(), 'bob')
  })
}

/** Of bob, and nothing else that the policy keeps. */
async function setState(url: string, attributes: Record<string, string>): Promise<void> {
  const client = new Client({ url: url.replace(`/${root}`, '') })
  await client.bind(manager.dn, manager.password)
  const dn = `uid=bob,ou=users,${root}`
  const relax = new Control('1.3.6.1.4.1.4203.666.5.12', { critical: true })
  for (const name of ['pwdReset', 'pwdAccountLockedTime', 'pwdChangedTime']) {
    const value = attributes[name]
    const modification = new Attribute({ type: name, values: value === undefined ? [] : [value] })
    await client.modify(dn, new Change({ operation: 'replace', modification }), [relax])
  }
  await client.unbind()
}
