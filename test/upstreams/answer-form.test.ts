/** Which beginnings of an answer fit the form that an operation expects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { AnyObject, nothing, ObjectList } from '../../packages/base/json/schemas.ts'
import { answerFormOf } from '../../packages/gateway/operations/serving/answer-form.ts'
import { matchForm } from '../../packages/gateway/upstreams/answer-form.ts'

const page = '<!DOCTYPE html><title>Log in</title>'
const long = ' '.repeat(600)
const rows: [name: string, schema: z.ZodType, text: string, isWhole: boolean, verdict: string][] = [
  ['an object', AnyObject, '{"a"', false, 'fits'],
  ['an object behind a byte order mark', AnyObject, '\ufeff{', false, 'fits'],
  ['an object behind blanks', AnyObject, ' \r\n\t{', false, 'fits'],
  ['blanks alone', AnyObject, ' \n', false, 'unknown'],
  ['no byte yet', AnyObject, '', false, 'unknown'],
  ['nothing at all', AnyObject, '', true, 'misfit'],
  ['nothing where an object is optional', AnyObject.optional(), '', true, 'fits'],
  ['a list instead of an object', AnyObject, '[', false, 'misfit'],
  ['a list', ObjectList, '[{', false, 'fits'],
  ['a list by name', z.record(z.string(), ObjectList), '[', false, 'misfit'],
  ['one of two forms', AnyObject.or(ObjectList), '[', false, 'fits'],
  ['null', ObjectList, 'null', true, 'null'],
  ['null and blanks', AnyObject, ' null\r\n', true, 'null'],
  ['null, perhaps not all of it', AnyObject, 'null', false, 'unknown'],
  ['a word that begins with null', AnyObject, 'nullable', false, 'misfit'],
  ['half of null', ObjectList, 'nu', false, 'unknown'],
  ['half of null and no more', ObjectList, 'nu', true, 'misfit'],
  ['a word', ObjectList, 'not found', false, 'misfit'],
  ['a text in quotes', AnyObject, '"text"', false, 'misfit'],
  ['a page', AnyObject, page, false, 'misfit'],
  ['a page where nothing is read', nothing, ` ${page}`, false, 'misfit'],
  ['a word where nothing is read', nothing, 'OK', false, 'fits'],
  ['nothing where nothing is read', nothing, '', true, 'fits'],
  ['a page where anything is expected', z.unknown(), page, false, 'fits'],
  ['a page where a text is expected', z.string(), page, false, 'fits'],
  ['more blanks than are looked at', AnyObject, long, false, 'fits'],
]

for (const [name, schema, text, isWhole, verdict] of rows) {
  test(`${name}: ${verdict}`, () => {
    const form = answerFormOf(schema)
    assert.equal(matchForm(form, {}, Buffer.from(text), isWhole).kind, verdict)
    const packed = matchForm(form, { 'content-encoding': 'gzip' }, gzipSync(text), isWhole)
    if (text !== long) assert.equal(packed.kind, verdict, 'packed')
  })
}

test('what cannot be read is judged by its content type', () => {
  const judge = (type: string) =>
    matchForm(
      answerFormOf(AnyObject),
      { 'content-encoding': 'br', 'content-type': type },
      Buffer.from('packed'),
      false,
    ).kind
  assert.equal(judge('text/html; charset=utf-8'), 'misfit')
  assert.equal(judge('application/json'), 'fits')
})

test('what is no gzip under its name fits nowhere', () => {
  for (const schema of [AnyObject, nothing, z.unknown()]) {
    const judge = (encoding: string) =>
      matchForm(
        answerFormOf(schema),
        { 'content-encoding': encoding },
        Buffer.from('{"packed":"somehow"}'),
        false,
      ).kind
    assert.equal(judge('gzip'), 'misfit')
    assert.equal(judge('X-GZIP'), 'misfit')
    assert.equal(judge('Identity'), 'fits')
  }
})

test('no more than the beginning of a packed answer is unpacked', () => {
  const packed = gzipSync(Buffer.alloc(100_000_000, ' '))
  const before = process.memoryUsage().arrayBuffers
  matchForm(answerFormOf(AnyObject), { 'content-encoding': 'gzip' }, packed, false)
  assert.ok(process.memoryUsage().arrayBuffers - before < 2_000_000)
})
