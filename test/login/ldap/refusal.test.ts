/** What the codes of a refusal mean: for the log, and for the form. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { adviseOn } from '../../../packages/base/directory/advice.ts'
import { explainRefusal } from '../../../packages/gateway/login/ldap/refusal.ts'

const message = (data: string) =>
  `80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data ${data}, v4563`
const told: [data: string, reason: RegExp, notice: string | undefined][] = [
  ['525', /unknown/, undefined],
  ['52e', /wrong/, undefined],
  ['530', /time of day/, 'restricted'],
  ['531', /machine/, 'restricted'],
  ['532', /expired/, 'expired'],
  ['533', /disabled/, 'restricted'],
  ['701', /expired/, 'restricted'],
  ['773', /changed/, 'expired'],
  ['775', /locked/, undefined],
  ['999', /wrong or the user is unknown \(data 999\)/, undefined],
]

for (const [data, reason, notice] of told) {
  test(`code ${data} of Active Directory shows ${notice ?? 'nothing'} in the form`, () => {
    const refusal = explainRefusal(49, message(data))
    assert.match(refusal?.reason ?? '', reason)
    assert.match(refusal?.reason ?? '', new RegExp(`data ${data}`))
    assert.equal(refusal?.notice, notice)
  })
}

test('required channel binding is a problem of the directory', () => {
  const text = message('80090346')
  assert.equal(explainRefusal(49, text), undefined)
  assert.match(adviseOn({ code: 49, message: text }) ?? '', /LdapEnforceChannelBinding/)
})

test('trouble of the directory is no wrong password', () => {
  assert.equal(explainRefusal(80, 'internal'), undefined)
  assert.equal(explainRefusal(32, message('532'))?.notice, undefined)
})
