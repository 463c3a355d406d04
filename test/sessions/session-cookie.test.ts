/** The session cookie as text. */
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  type CookieRules,
  formatClearedCookie,
  formatSessionCookie,
  parseSessionCookie,
} from '../../packages/gateway/sessions/session-cookie.ts'

const settings: CookieRules['settings'] = {
  name: 'SESSION',
  domain: undefined,
  secure: 'auto',
  maxAgeSeconds: undefined,
  sameSite: undefined,
}
const plain: CookieRules = { settings, contextPath: '' }
const id = 'A'.repeat(43)

test('auth-scenario 63: a secure cookie has Path, Secure and HttpOnly only', () => {
  assert.equal(formatSessionCookie(id, true, plain), `SESSION=${id}; Path=/; Secure; HttpOnly`)
})

test('auth-scenario 64: the cookie of a plain request is not Secure', () => {
  assert.equal(formatSessionCookie(id, false, plain), `SESSION=${id}; Path=/; HttpOnly`)
})

test('configured attributes are added to the cookie', () => {
  const rules: CookieRules = {
    settings: { name: 'GATE', domain: 'x.io', secure: true, maxAgeSeconds: 60, sameSite: 'none' },
    contextPath: '/api/v1',
  }
  assert.equal(
    formatSessionCookie(id, false, rules),
    `GATE=${id}; Max-Age=60; Domain=x.io; Path=/api/v1/; Secure; HttpOnly; SameSite=None`,
  )
})

test('a prefix of the name brings the attributes that browsers require', () => {
  const named = (name: string): CookieRules => ({
    settings: { ...settings, name },
    contextPath: '/gate',
  })
  for (const [name, path] of [
    ['__Host-SESSION', '/'],
    ['__host-s', '/'],
    ['__Secure-SESSION', '/gate/'],
  ] as const) {
    assert.equal(
      formatSessionCookie(id, false, named(name)),
      `${name}=${id}; Path=${path}; Secure; HttpOnly`,
    )
    assert.match(
      formatClearedCookie(false, named(name)),
      new RegExp(`; Path=${path}; Secure; HttpOnly$`),
    )
  }
})

test('a cleared cookie keeps the path and expires', () => {
  assert.equal(
    formatClearedCookie(true, { settings, contextPath: '/gate' }),
    'SESSION=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/gate/; Secure; HttpOnly',
  )
})

test('only plausible values of a cookie are read', () => {
  assert.deepEqual(parseSessionCookie(`a=1; SESSION=${id}; b=2`, 'SESSION'), [id])
  assert.deepEqual(parseSessionCookie(`SESSION=; SESSION=${id}; SESSION=x`, 'SESSION'), [id])
  for (const foreign of [
    undefined,
    '',
    ';;;',
    'SESSION',
    'SESSION=',
    `SESSION=${id}A`,
    `session=${id}`,
    `SESSION="${id}"`,
    'SESSION=../../etc',
  ]) {
    assert.deepEqual(parseSessionCookie(foreign, 'SESSION'), [])
  }
})

test('no more than three cookies of the name are tried', () => {
  assert.equal(parseSessionCookie(Array(50).fill(`SESSION=${id}`).join('; '), 'SESSION').length, 3)
})
