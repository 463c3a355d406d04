/** User names: the spellings that are refused, and those that name one user. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { joinUsers } from '../../packages/base/names/acting-users.ts'
import { findNameObjection, toUserKey } from '../../packages/base/names/user-name.ts'

const accepted = [
  'alice',
  'Alice.Smith@Example.com',
  'ACME\\alice',
  'John Smith',
  'jörg',
  'Łukasz',
  'ΟΔΥΣΣΕΥΣ',
  '李雷',
  'straße',
  'CN=alice,OU=People',
  'o’brien',
  '123',
  'anonymously',
]
for (const name of accepted) {
  test(`the user name ${JSON.stringify(name)} is accepted`, () => {
    assert.equal(findNameObjection(name), undefined)
  })
}

const refused: [name: string, objection: RegExp][] = [
  ['', /is empty/],
  ['x'.repeat(513), /more than 512/],
  ['\u00a0zoe', /U\+00A0, which Unicode takes for U\+0020/],
  [' zoe', /begins or ends with a blank/],
  ['zoe ', /begins or ends with a blank/],
  ['zoe  smith', /several blanks/],
  // It would act for both.
  [joinUsers(['zoe', 'ann']), /several blanks/],
  ['zoe\u1680smith', /several blanks/],
  ['zoe\u3000', /U\+3000/],
  ['zoe\tsmith', /U\+0009, which is invisible/],
  ['zoe\u0000', /U\+0000, which is invisible/],
  ['zoe\u200b', /U\+200B, which is invisible/],
  ['zoe\ufeff', /U\+FEFF, which is invisible/],
  ['\u202eeoz', /U\+202E, which is invisible/],
  ['\u2066zoe', /U\+2066, which is invisible/],
  ['zo\u00ade', /U\+00AD, which is invisible/],
  ['zoe\u034f', /U\+034F, which is invisible/],
  ['zoe\ufe0f', /U\+FE0F, which is invisible/],
  ['zoe\u3164', /U\+3164, which is invisible/],
  ['zoe\u2800', /U\+2800, which is invisible/],
  ['zoe\u2028', /U\+2028, which is invisible/],
  ['zoe\ud800', /U\+D800, which is invisible/],
  ['zoe\ue000', /U\+E000, which is invisible/],
  ['zoe\u{e0061}', /U\+E0061, which is invisible/],
  ['\u212aelvin', /U\+212A, which Unicode takes for U\+004B/],
  ['\uff42ob', /U\+FF42, which Unicode takes for U\+0062/],
  ['\u{1d41b}ob', /U\+1D41B, which Unicode takes for U\+0062/],
  ['\u017fam', /U\+017F, which Unicode takes for U\+0073/],
  ['o\ufb03ce', /U\+FB03/],
  ['jo\u0308rg', /normal form NFC/],
  ['..', /dots/],
  ['anonymous', /reserved/],
  ['Anonymous', /reserved/],
  ['anonymousUser', /reserved/],
  ['__unrestricted_user__', /reserved/],
]
for (const [name, objection] of refused) {
  const shown = JSON.stringify(name.slice(0, 20)).replaceAll(
    /[^\x20-\x7e]/gu,
    (one) => `<${one.codePointAt(0)?.toString(16)}>`,
  )
  test(`the user name ${shown} is refused`, () => {
    assert.match(findNameObjection(name) ?? 'no objection', objection)
  })
}

test('names that differ in case name one user', () => {
  assert.equal(toUserKey('Alice@Example.com'), toUserKey('alice@EXAMPLE.com'))
  assert.equal(toUserKey('JÖRG'), toUserKey('jörg'))
  assert.notEqual(toUserKey('straße'), toUserKey('strasse'))
  assert.notEqual(toUserKey('ı'), toUserKey('i'))
})

test('every spelling of a name shares its key', () => {
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    const key = toUserKey(character)
    if (key === character || findNameObjection(character) !== undefined) continue
    assert.equal(key, character.toLowerCase())
  }
})
