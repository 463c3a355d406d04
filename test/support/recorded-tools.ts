/** Tools of the system that record each use, for this process and those that it starts. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { createFolder, removeFolder } from './temporary-folder.ts'

/** Until the test ends, the tools are found in a folder of its own first. @returns names of those that were used so far, sorted, each once */
export function recordTools(t: TestContext, names: readonly string[]): () => string[] {
  const folder = createFolder('tools')
  const log = join(folder, 'used')
  appendFileSync(log, '')
  for (const name of names) {
    const real = execFileSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', name], {
      encoding: 'utf8',
    }).trim()
    writeFileSync(join(folder, name), `#!/bin/sh\necho ${name} >>'${log}'\nexec ${real} "$@"\n`, {
      mode: 0o755,
    })
  }
  const path = process.env['PATH'] ?? ''
  process.env['PATH'] = `${folder}${delimiter}${path}`
  t.after(() => {
    process.env['PATH'] = path
    removeFolder(folder)
  })
  return () => [...new Set(readFileSync(log, 'utf8').split('\n').filter(Boolean))].sort()
}
