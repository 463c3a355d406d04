/** What the plug-in for Deck uses is offered by the versions of Deck that it is made for. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { decks } from './deck.ts'

const folder = resolve(import.meta.dirname, '../../console/deck-plugin')
const uses = globSync('*.{ts,tsx}', { cwd: folder }).flatMap((file) => [
  ...readFileSync(resolve(folder, file), 'utf8').matchAll(/\bcore\.([A-Z]\w+)(?:\.(\w+)(\?\.)?)?/g),
])

for (const { peer, version, core } of decks) {
  test(`${peer} of ${version} offers what the plug-in uses`, () => {
    assert.ok(uses.length > 20)
    for (const [text, name = '', member, mayLack] of uses) {
      assert.ok(name in core, text)
      const members = core[name]?.static
      if (member !== undefined && members !== undefined && mayLack === undefined)
        assert.ok(members.includes(member), text)
    }
  })
}
