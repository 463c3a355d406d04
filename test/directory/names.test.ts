/** Names and filters, piece by piece: what is typed stays where it belongs. */
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  askInChain,
  fillFilter,
  parseFilterTemplate,
} from '../../packages/base/directory/filter-template.ts'
import {
  escapeDnValue,
  fillDnPattern,
  isSameDn,
  leadingValue,
} from '../../packages/base/names/distinguished-name.ts'

const escaped: [typed: string, escaped: string][] = [
  ['alice', 'alice'],
  ['a,b', String.raw`a\,b`],
  ['a+b=c', String.raw`a\+b\=c`],
  [String.raw`a\00`, String.raw`a\\00`],
  ['#1', String.raw`\#1`],
  [' a ', String.raw`\ a\ `],
  ['  ', String.raw`\ \ `],
  [' ', String.raw`\ `],
  ['\\ ', String.raw`\\\ `],
  ['"<>;', String.raw`\"\<\>\;`],
  ['a\0\n', String.raw`a\00\0a`],
  ['jürgen', 'jürgen'],
  ['$&{0}', '$&{0}'],
]

for (const [typed, expected] of escaped) {
  test(`${JSON.stringify(typed)} is written ${expected} within a name, and read back`, () => {
    assert.equal(escapeDnValue(typed), expected)
    assert.equal(fillDnPattern('uid={0},ou=x', typed), `uid=${expected},ou=x`)
    assert.equal(leadingValue(`uid=${expected},ou=x`), typed)
  })
}

test('the first attribute is read in every notation', () => {
  assert.equal(leadingValue(String.raw`CN=J\C3\BCrgen\2C Dev ,OU=x`), 'Jürgen, Dev')
  assert.equal(leadingValue('cn = Dev + sn=x,ou=y'), 'Dev')
  assert.equal(leadingValue('2.5.4.3=Dev'), 'Dev')
  assert.equal(leadingValue('cn="Dev, \\"East\\"" ;ou=x'), 'Dev, "East"')
  for (const nonsense of ['', 'Dev', '=x', ',cn=Dev', 'cn=,ou=x', 'cn=a\\', 'cn="a', 'cn=a,'])
    assert.equal(leadingValue(nonsense), undefined)
})

test('two ways of writing one name are recognized', () => {
  assert.ok(isSameDn('uid=Alice, ou=Users,dc=x', 'UID=alice,OU=users , DC=x'))
  assert.ok(isSameDn(String.raw`2.5.4.3=A\2C b`, 'cn="a,  b"'))
  assert.ok(!isSameDn('uid=alice,ou=users', 'uid=alice,ou=admins'))
  assert.ok(!isSameDn(String.raw`cn=a\,ou=b`, 'cn=a,ou=b'))
})

test('values never become part of the filter syntax', () => {
  const template = parseFilterTemplate(
    '(&(objectClass=person)(|(uid={0})(mail={0}@*)(!(cn>={1}))))',
  )
  const filled = fillFilter(template, ['*)(uid=*', '$&({0})'])
  assert.equal(
    filled.toString(),
    String.raw`(&(objectClass=person)(|(uid=\2a\29\28uid=\2a)(mail=\2a\29\28uid=\2a@*)(!(cn>=$&\28{0}\29))))`,
  )
  assert.equal(template.toString(), '(&(objectClass=person)(|(uid={0})(mail={0}@*)(!(cn>={1}))))')
})

test('escaped letters in a configured filter are decoded', () => {
  assert.equal(
    parseFilterTemplate(String.raw`(ou=M\c3\bcnchen\2a)`).toString(),
    String.raw`(ou=München\2a)`,
  )
  assert.throws(() => parseFilterTemplate('(uid)'), /Invalid expression/)
})

test('Active Directory is asked to follow groups within groups itself', () => {
  const filter = askInChain(
    parseFilterTemplate('(&(objectClass=group)(|(member={0})(memberUid={1})))'),
  )
  assert.equal(
    fillFilter(filter, ['cn=a,dc=b', 'a']).toString(),
    '(&(objectClass=group)(|(member:1.2.840.113556.1.4.1941:=cn=a,dc=b)(memberUid=a)))',
  )
})
