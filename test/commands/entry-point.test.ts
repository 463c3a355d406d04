/** The entry point runs wherever a newcomer starts it; what it says there is in the table of mistakes. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'acorn'
import { program } from '../support/program.ts'

const root = resolve(import.meta.dirname, '../..')
const launcher = join(root, 'bin/fairlead.js')

test('every Node since 12 can parse the entry point', () => {
  const text = readFileSync(launcher, 'utf8')
  // Import declarations of other files than those of Node would be loaded before the first line runs.
  const { body } = parse(text, { ecmaVersion: 2020, sourceType: 'module', allowHashBang: true })
  const imported = body.flatMap((node) =>
    node.type === 'ImportDeclaration' ? [String(node.source.value)] : [],
  )
  assert.ok(
    imported.every((name) => name.startsWith('node:')),
    imported.join(', '),
  )
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    engines: { node: string }
  }
  const [, tested, next] = /^>=(\d+) <(\d+)$/.exec(engines.node) ?? []
  assert.equal(Number(next), Number(tested) + 1)
  assert.ok(text.includes(`const neededNode = ${tested}\n`))
})

test('a start on a later Node than the tested one works and warns', () => {
  const later = `data:text/javascript,${encodeURIComponent("Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '99.1.0' } })")}`
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ['--import', later, program, 'stop', '--help'],
    { encoding: 'utf8' },
  )
  assert.equal(status, 0, stderr)
  assert.match(
    stderr,
    /^Fairlead is tested with Node 26, and this is Node 99\.1\.0\. Use Node 26 if something fails\.\n$/,
  )
  assert.match(stdout, /^Usage: fairlead stop/)
})
