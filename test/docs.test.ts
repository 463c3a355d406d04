/** The documentation agrees with the code: printed pages are current, links lead somewhere, and examples are sound. */
import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { ConfigError, loadConfig } from '../packages/app/config/config.ts'
import { parseImageFile } from '../packages/ports/image-file.ts'
import { printReference } from '../scripts/print-reference.ts'
import { blocksOf } from './support/guide.ts'

const root = resolve(import.meta.dirname, '..')

for (const { file, text } of printReference()) {
  test(`${file} is what the code prints`, () => {
    const path = join(root, file)
    assert.ok(existsSync(path), `${file} is missing: npm run docs`)
    // Not compared as text: the difference of two long pages would hide what to do.
    assert.ok(readFileSync(path, 'utf8') === text, `${file} is older than the code: npm run docs`)
  })
}

for (const file of globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root }).sort()) {
  test(`every link of ${file} leads to a file of the repository`, () => {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)) {
      assert.ok(existsSync(join(root, dirname(file), target)), `${target} does not exist`)
    }
  })
}

test('every source that a page names exists', () => {
  for (const file of globSync(['*.md', 'docs/**/*.md'], { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, path = ''] of text.matchAll(
      /`((?:src|bin|test|scripts|bench|console|examples)\/[\w./-]+)`/g,
    )) {
      assert.ok(existsSync(join(root, path)), `${file} names ${path}, which does not exist`)
    }
  }
})

test('the index of the guides names each of them', () => {
  const index = readFileSync(join(root, 'docs/guides/README.md'), 'utf8')
  for (const file of globSync('docs/guides/*.md', { cwd: root })) {
    const name = file.replace('docs/guides/', '')
    assert.ok(
      name === 'README.md' || index.includes(`](${name})`),
      `docs/guides/README.md lacks ${name}`,
    )
  }
})

for (const file of globSync('docs/guides/*.md', { cwd: root }).sort()) {
  for (const [index, yaml] of blocksOf(readFileSync(join(root, file), 'utf8'), 'yaml').entries()) {
    test(`configuration ${index + 1} of ${file} is accepted as it stands`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'fairlead-docs-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const path = join(folder, 'fairlead.yml')
      writeFileSync(path, yaml)

      assert.deepEqual(await problemsOf(folder, path), [])
    })
  }
}

test('every metric is in the reference', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const names = new Set(read('packages/base/telemetry/metrics.ts').match(/\bfairlead_\w+/g))
  const reference = read('docs/reference/metrics.md')
  assert.deepEqual(
    [...names].filter((name) => !reference.includes(`\`${name}\``)),
    [],
  )
})

test('the image file of the guide is accepted as it stands', () => {
  const [file = ''] = blocksOf(
    readFileSync(join(root, 'docs/guides/run-a-server.md'), 'utf8'),
    'yml',
  )
  assert.deepEqual(parseImageFile(file).command, ['node', 'server.mjs'])
})

/** Files and users that a guide names exist where its reader is, not here. */
async function problemsOf(folder: string, file: string): Promise<string[]> {
  try {
    await loadConfig({ cwd: folder, env: {}, homeDir: folder, systemDir: folder, files: [file] })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const elsewhere = /\bthe file \S+ does not exist;|\bthis machine has no user "/
    return error.problems
      .map(({ message }) => message)
      .filter((message) => !elsewhere.test(message))
  }
}
