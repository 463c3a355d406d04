import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../src')

/** Folders of `src/`, each of which may import from those after it. `docs/architecture.md` explains them. */
const layers = [
  'gateway.ts',
  'workers',
  'doctor',
  'config',
  'console',
  'deck-plugins',
  'backends/(root)',
  'operations',
  'operations/resources',
  'operations/serving',
  'operations/access',
  'operations/models',
  'operations/(root)',
  'integrations',
  'live',
  'login',
  'banners',
  'sessions',
  'permissions',
  'pipeline-templates',
  'stage-types',
  'upstreams',
  'directory',
  'limits',
  'http',
  'agent',
  'audit',
  'telemetry',
  'redis',
  'storage',
  'json',
  '(root)',
]

/** Embedded back ends; what they share lies beside them, so all of them may import from `backends/`. */
const backendLayers = [
  'definitions',
  'events',
  'orchestration',
  'infrastructure',
  'builds',
  'bakery',
  'permissions',
  'images',
  'outside',
  'regex',
]

interface Import {
  readonly from: string
  readonly to: string
}

function readImports(): Import[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return files.flatMap((from) => {
    const text = readFileSync(join(root, from), 'utf8')
    return [...text.matchAll(/(?:\bfrom |\bimport\(|^import )'(\.{1,2}\/[^']+\.ts)'/gm)].map(([, path = '']) => ({
      from,
      to: relative(root, resolve(root, dirname(from), path)),
    }))
  })
}

function layerOf(file: string): string {
  const [first = '', second = '', ...rest] = file.split('/')
  if (second === '') return first === 'gateway.ts' ? first : '(root)'
  if (first === 'backends') return 'backends/(root)'
  if (first !== 'operations') return first
  if (rest.length > 0) return `operations/${second}`
  return second === 'all.ts' ? 'operations' : 'operations/(root)'
}

const imports = readImports()

test('imports point down the layers', () => {
  assert.ok(imports.length > 1_000, 'the imports of src/ are read')
  for (const { from, to } of imports) {
    assert.ok(layers.includes(layerOf(from)), `the layer of ${from} is declared`)
    assert.ok(layers.indexOf(layerOf(from)) <= layers.indexOf(layerOf(to)), `${from} imports ${to}, which lies above it`)
  }
})

test('HTTP modules of Node come without its fetch', () => {
  assert.deepEqual(filesWith(/^import (?!type ).* from 'node:https?'/m), [], 'imports from src/node-http.ts')
})

test('the client of undici comes without the rest of it', () => {
  assert.deepEqual(filesWith(/^import (?!type ).* from 'undici'/m), [], 'imports from src/undici-client.ts')
})

test('code of requests stores no function literal in a property', () => {
  // V8 puts such a closure into the old generation, with all that it reaches: docs/performance.md#garbage.
  const literal = /[\w)\]]\.#?\w+ = (async )?(function\b|\([^()]*\)(: [^=]+)? =>|\w+ =>)/
  const found = filesWith(literal).filter((file) => !/^(doctor|config|workers)\/|^login\/login-page\.ts/.test(file))
  assert.deepEqual(found, [], 'the function has a name of its own before it is stored')
})

/** Files of `src/` that contain such text. */
function filesWith(pattern: RegExp): string[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return files.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))
}

test('back ends import those after them only', () => {
  for (const { from, to } of imports) {
    const [source, target] = [from, to].map((file) => /^backends\/([^/]+)\//.exec(file)?.[1])
    if (source === undefined || target === undefined) continue
    assert.ok(backendLayers.includes(source), `the layer of ${from} is declared`)
    assert.ok(backendLayers.indexOf(source) <= backendLayers.indexOf(target), `${from} imports ${to}, which lies above it`)
  }
})

test('files do not import each other in a circle', () => {
  const targets = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `circle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`)
    if (done.has(file)) return
    for (const { to } of targets.get(file) ?? []) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
})

test('docs/architecture.md names every layer in order', () => {
  const page = readFileSync(resolve(root, '../docs/architecture.md'), 'utf8')
  const table = page.slice(page.indexOf('## Layers'), page.indexOf('## To change'))
  const cells = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)])
  const folders = layers
    .filter((layer) => layer !== '(root)' && !/\/(?!\(root\))/.test(layer))
    .map((layer) => layer.replace('/(root)', ''))
  assert.deepEqual(
    cells.map(([, folder]) => folder),
    [...new Set(folders)],
  )
  for (const folder of backendLayers) assert.ok(table.includes(`\`${folder}\``), `${folder} is in the table`)
})
