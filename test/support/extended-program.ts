/** A copy of the program to which a test adds what a walkthrough of CONTRIBUTING.md describes. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'

const root = resolve(import.meta.dirname, '../..')

export interface ExtendedProgram {
  /** The command line of the copy. */
  readonly program: string
  /** Adds a file. @param path As CONTRIBUTING.md writes it */
  add(path: string, text: string): void
  /** Puts lines around those that a file has: the first after its last import, the second after the line that `after` begins. */
  list(
    path: string,
    line: { readonly import: string; readonly after: string; readonly entry: string },
  ): void
}

export function extendProgram(t: TestEnd): ExtendedProgram {
  const outside = createFolder('extended')
  t.after(() => removeFolder(outside))
  const folder = copyProgram(outside)
  return {
    program: join(folder, 'bin/fairlead.js'),
    add: (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    },
    list: (path, line) => {
      const text = readFileSync(join(folder, path), 'utf8')
      assert.ok(text.includes(line.after), `${path} has ${line.after}`)
      const extended = text
        .replace(/^import /m, () => `${line.import}\nimport `)
        .replace(line.after, () => `${line.after}\n${line.entry}`)
      writeFileSync(join(folder, path), extended)
    },
  }
}

/** A clone in a folder of its own below another: with packages of its own, and those of the registry in the folder above it. */
export function copyProgram(outside: string): string {
  const folder = join(outside, 'clone')
  for (const part of ['packages', 'bin', 'package.json', 'node_modules/@fairlead'])
    cpSync(join(root, part), join(folder, part), { recursive: true, verbatimSymlinks: true })
  symlinkSync(join(root, 'node_modules'), join(outside, 'node_modules'))
  return folder
}

/** The files that a walkthrough names, all of which exist. @param title Its first words, in bold letters */
export function walkthrough(title: string): {
  readonly files: readonly string[]
  readonly text: string
} {
  const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  const text = page.split('\n\n').find((paragraph) => paragraph.startsWith(`**${title}.**`)) ?? ''
  const files = [...text.matchAll(/`((?:packages|test|docs)\/[\w./-]+)`/g)].flatMap(
    ([, file]) => file ?? [],
  )
  assert.ok(files.length > 1, `CONTRIBUTING.md names the files of "${title}"`)
  for (const file of files)
    assert.ok(existsSync(join(root, file)), `${file}, which CONTRIBUTING.md names, exists`)
  return { files, text }
}
