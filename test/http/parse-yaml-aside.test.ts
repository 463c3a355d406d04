/** Large YAML documents: read in a thread, with the same outcome as small ones. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { parseYamlAside } from '../../src/http/parse-yaml-aside.ts'
import { parseYaml } from '../../src/http/yaml.ts'
import { formatJson } from '../../src/json/json.ts'

const lines = Array.from({ length: 2000 }, (_, index) => `name${index}: value ${index}`)

test('a document means the same in the thread', async () => {
  for (const more of ['id: 12345678901234567890', 'yes: no', 'list: [1, 2.5, ~, "x"]', 'text: "ü\\n"']) {
    const text = [...lines, more].join('\n')
    assert.equal(formatJson(await parseYamlAside(text)), formatJson(parseYaml(text)), more)
  }
})

test('an invalid document is reported and the next one read', async () => {
  const wrong: [line: string, says: RegExp][] = [
    ['name1: again', /the key "name1" is repeated/],
    ['__proto__: {}', /__proto__/],
    ['open: [1, 2', /flow/i],
    ['half: .inf', /not finite/],
  ]
  for (const [line, says] of wrong) {
    await assert.rejects(parseYamlAside([...lines, line].join('\n')), says, line)
    assert.deepEqual(await parseYamlAside('a: 1'), { a: 1 })
  }
})

test('documents that arrive together each get their own answer', async () => {
  const read = await Promise.all(['a: 1', 'b: [', 'c: 3'].map((text) => parseYamlAside(text).catch(() => 'refused')))
  assert.deepEqual(read, [{ a: 1 }, 'refused', { c: 3 }])
})
