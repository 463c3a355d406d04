/** The entry point runs wherever a newcomer starts it; what it says there is in the table of mistakes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'acorn'

const root = resolve(import.meta.dirname, '../..')
const launcher = join(root, 'bin/fairlead.js')

test('every Node since 12 can parse the entry point', () => {
  const text = readFileSync(launcher, 'utf8')
  // Import declarations of other files than those of Node would be loaded before the first line runs.
  const { body } = parse(text, { ecmaVersion: 2020, sourceType: 'module', allowHashBang: true })
  const imported = body.flatMap((node) => (node.type === 'ImportDeclaration' ? [String(node.source.value)] : []))
  assert.ok(
    imported.every((name) => name.startsWith('node:')),
    imported.join(', '),
  )
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  assert.ok(text.includes(`const neededNode = ${engines.node.replace('>=', '')}\n`))
})
