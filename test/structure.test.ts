import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../src')
const consoleRoot = resolve(root, '../console/src')

/** Folders of `src/`, each of which may import from those after it. `docs/architecture.md` explains them. */
const layers = [
  'gateway.ts',
  'gateway',
  'doctor',
  'backups',
  'moves',
  'config',
  'console',
  'deck-plugins',
  'standby',
  'backends/(root)',
  'external',
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
  'ports',
  'permissions',
  'pipeline-templates',
  'environments',
  'stage-types',
  'upstreams',
  'directory',
  'limits',
  'findings',
  'http',
  'agent',
  'proxy',
  'sandbox',
  'audit',
  'telemetry',
  'rights',
  'services',
  'tls',
  'redis',
  'storage',
  'json',
  'settings',
  'names',
  'caches',
  'concurrency',
  'net',
  'runtime',
  '(root)',
]

/** Embedded back ends, and after them the rooms of what they share; all of them may import from `backends/`. */
const backendLayers = [
  'definitions',
  'events',
  'orchestration',
  'notifications',
  'bakery',
  'canaries',
  'builds',
  'canaries',
  'infrastructure',
  'permissions',
  'images',
  'hosting',
  'secrets',
  'outside',
  'pipelines',
  'rights',
  'requests',
  'retention',
  'stores',
  'regex',
]

interface Import {
  readonly from: string
  readonly to: string
}

function readImports(folder: string): Import[] {
  return filesIn(folder).flatMap((from) => {
    const text = readFileSync(join(folder, from), 'utf8')
    return [...text.matchAll(/(?:\bfrom |\bimport\(|^import )'(\.{1,2}\/[^']+\.tsx?)'/gm)].map(([, path = '']) => ({
      from,
      to: relative(folder, resolve(folder, dirname(from), path)),
    }))
  })
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.([jt]s|tsx)$/.test(file))
}

function layerOf(file: string): string {
  const [first = '', second = '', ...rest] = file.split('/')
  if (second === '') return first === 'gateway.ts' ? first : '(root)'
  if (first === 'backends') return 'backends/(root)'
  if (first !== 'operations') return first
  if (rest.length > 0) return `operations/${second}`
  return second === 'all.ts' ? 'operations' : 'operations/(root)'
}

const imports = readImports(root)

test('imports point down the layers', () => {
  assert.ok(imports.length > 1_000, 'the imports of src/ are read')
  for (const { from, to } of imports) {
    assert.ok(layers.includes(layerOf(from)), `the layer of ${from} is declared`)
    assert.ok(layers.indexOf(layerOf(from)) <= layers.indexOf(layerOf(to)), `${from} imports ${to}, which lies above it`)
  }
})

/** Reaches into Node, V8 and packages, each with an example that it finds. */
const reaches: Readonly<Record<string, { pattern: RegExp; example: string }>> = {
  'an underscore property': { pattern: /[\w)\]]\??\._[a-z]\w*/i, example: 'socket._handle?.fd' },
  'a declared or taken underscore property': {
    pattern: /\{\s*(readonly )?_[a-z]\w*\??\s*[:,}]/i,
    example: 'as { readonly _handle?: object }',
  },
  'an underscore property by its text': { pattern: /\['_[a-z]/i, example: "socket['_parent']" },
  'a prototype': { pattern: /\.prototype\b/, example: 'NetServer.prototype.close.call(server)' },
  'a replaced method': {
    pattern:
      /(?<!\bthis)\.(push|emit|emitWarning|write|writeHead|end|destroy|destroySoon|close|pipe|read|resume|pause|on|once|nextTick) = /,
    example: 'socket.emit = emitScreened',
  },
  'a slot of the parser': {
    pattern: /socket\??\.parser\b|\bparser\?:|\{ parser \} = socket/,
    example: 'const { parser } = socket',
  },
  'an option of V8': {
    pattern: /setFlagsFromString|--(expose-gc|bytecode|memory-reducer)/,
    example: "setFlagsFromString('--expose-gc')",
  },
  'a module for internals': {
    pattern: /'node:(vm|ffi)'|process\.(binding|execve)\b|\bcreateHook\b|'node:internal/,
    example: "import { runInNewContext } from 'node:vm'",
  },
  'a symbol of a package': {
    pattern: /getOwnPropertySymbols|Symbol\.for\(|\.symbols\b/,
    example: 'logger[pino.symbols.streamSym]',
  },
  'a file of a package': {
    pattern: /from '(undici|pino|prom-client|fastify|ioredis|ldapts)\/|undici\/lib/,
    example: "import Client from 'undici/lib/dispatcher/client.js'",
  },
}

for (const [name, { pattern, example }] of Object.entries(reaches)) {
  test(`${name} is reached for in packages/base/runtime only`, () => {
    assert.match(example, pattern)
    assert.deepEqual(
      [root, consoleRoot, resolve(root, '../bin')]
        .flatMap((folder) => filesWith(pattern, folder))
        .filter((file) => !file.startsWith('runtime/') && !(name === 'a prototype' && file === 'model/exact-json.ts')),
      [],
      'a named function of packages/base/runtime/',
    )
  })
}

function filesWith(pattern: RegExp, folder: string): string[] {
  return filesIn(folder).filter((file) => pattern.test(readFileSync(join(folder, file), 'utf8')))
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
  for (const edges of [imports, readImports(consoleRoot)]) {
    assert.ok(edges.length > 500, 'the imports are read')
    const targets = Map.groupBy(edges, ({ from }) => from)
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      assert.ok(!path.includes(file), `circle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`)
      if (done.has(file)) return
      for (const { to } of targets.get(file) ?? []) visit(to, [...path, file])
      done.add(file)
    }
    for (const file of targets.keys()) visit(file, [])
  }
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

test('a cloud provider is named in its folder only', () => {
  // Profiles of the configuration, the lease, paths and host names share the word of one, examples, foreign keys and external services that of another.
  const ids = readdirSync(join(root, 'backends/infrastructure/providers'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  const named = new RegExp(`['"\`](/?)(${ids.join('|')})(['"\`/]|\\.[a-z])|[Pp]rovider \`?(${ids.join('|')})\\b`)
  const allowed =
    /^(src\/backends\/infrastructure\/providers\/|src\/settings\/standalone\.ts$|src\/standby\/settings\.ts$|src\/config\/(profiles|sources|foreign-keys)\.ts$|src\/operations\/(serving\/examples|serving\/openapi|resources\/capabilities)\.ts$|src\/backends\/pipelines\/secret-names\.ts$|bin\/command-name\.ts$|console\/src\/api\/schema\.d\.ts$)/
  const found = ['src', 'bin', 'console/src'].flatMap((folder) => {
    const files = readdirSync(resolve(root, '..', folder), { recursive: true, encoding: 'utf8' })
    return files
      .map((file) => `${folder}/${file}`)
      .filter((file) => /\.tsx?$/.test(file) && !allowed.test(file))
      .filter((file) => named.test(readFileSync(resolve(root, '..', file), 'utf8')))
  })
  assert.ok(ids.length > 0, 'the providers are found')
  assert.deepEqual(found, [], 'ask the type of the provider, or packages/base/settings/standalone.ts')
})
