/** What a newcomer's machine may lack is said in one line, before anything of the program is loaded. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
  const imported = body.flatMap((node) => (node.type === 'ImportDeclaration' ? [String(node.source.value)] : []))
  assert.ok(
    imported.every((name) => name.startsWith('node:')),
    imported.join(', '),
  )
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  assert.ok(text.includes(`const neededNode = ${engines.node.replace('>=', '')}\n`))
})

const oldNode = findOldNode()
test('a Node that is too old is told with one that is not', {
  skip: oldNode === undefined && 'there is no old Node here',
}, (t) => {
  const says = /^Fairlead needs Node 26 or newer, and this is Node \d+\.\d+\.\d+ \(\/\S+\)\. /
  const inClone = runWith(oldNode ?? '', launcher, ['user', 'add', 'a b'])
  assert.match(inClone, says)
  assert.match(inClone, /Use the one of this clone: \S+node_modules\/\.bin\/node \S+bin\/fairlead\.js user add 'a b'\n$/)

  const fresh = mkdtempSync(join(tmpdir(), 'fairlead-old-'))
  t.after(() => rmSync(fresh, { recursive: true }))
  mkdirSync(join(fresh, 'bin'))
  for (const file of ['package.json', 'bin/fairlead.js']) cpSync(join(root, file), join(fresh, file))
  const withoutPackages = runWith(oldNode ?? '', join(fresh, 'bin/fairlead.js'))
  assert.match(withoutPackages, says)
  assert.ok(withoutPackages.endsWith(`Run "npm ci" in ${fresh}, which brings a newer one, then "npm start".\n`), withoutPackages)
  if (program !== launcher)
    assert.match(runWith(oldNode ?? '', program), /Install a newer one, .*nodejs\.org\S*, then try again\.\n$/)
})

test('a clone without its packages says which command brings them', (t) => {
  const clone = mkdtempSync(join(tmpdir(), 'fairlead-bare-'))
  t.after(() => rmSync(clone, { recursive: true }))
  for (const part of ['package.json', 'bin', 'src']) cpSync(join(root, part), join(clone, part), { recursive: true })
  const text = runWith(process.execPath, join(clone, 'bin/fairlead.js'))
  assert.match(text, /^Fairlead cannot start: the package \S+ is missing\. Run "npm ci" in /)
  assert.ok(text.endsWith(` in ${clone}, then try again.\n`), text)
})

/** What `check` writes to standard error when it cannot run: one line. */
function runWith(node: string, file: string, args: readonly string[] = ['check']): string {
  const { status, stdout, stderr } = spawnSync(node, [file, ...args], { encoding: 'utf8', cwd: '/' })
  assert.equal(status, 1, stderr)
  assert.equal(stdout, '')
  assert.equal(stderr.indexOf('\n'), stderr.length - 1, stderr)
  return stderr
}

/** Of the machine; tests run with the Node that npm has brought. */
function findOldNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'))
  return folders
    .map((folder) => join(folder, 'node'))
    .filter((file) => existsSync(file))
    .find((file) => Number.parseInt(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout.slice(1), 10) < 26)
}
