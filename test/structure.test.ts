import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '..')
const packages = resolve(root, 'packages')
const consoleRoot = resolve(root, 'console/src')

interface Import {
  readonly from: string
  readonly to: string
}

/** Imports between files of the folder, and those of our packages: `@fairlead/base/names/moniker.ts` is `base/names/moniker.ts`. */
function readImports(folder: string): Import[] {
  return filesIn(folder).flatMap((from) => {
    const text = readFileSync(join(folder, from), 'utf8')
    const found = text.matchAll(
      /(?:\bfrom |\bimport\(|^import )'(?:@fairlead\/([^']+)|(\.{1,2}\/[^']+\.tsx?))'/gm,
    )
    return [...found].map(([, shared, path = '']) => ({
      from,
      to: shared ?? join(dirname(from), path),
    }))
  })
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.([jt]s|tsx)$/.test(file) && !file.includes('node_modules/'),
  )
}

const imports = readImports(packages)
const packageOf = (file: string) => file.slice(0, file.indexOf('/'))
const manifests = new Map(readdirSync(packages).map((name) => [name, readManifest(name)]))

function readManifest(name: string) {
  const { dependencies, exports } = JSON.parse(
    readFileSync(join(packages, name, 'package.json'), 'utf8'),
  ) as {
    dependencies: Readonly<Record<string, string>>
    exports: Readonly<Record<string, string>>
  }
  return { dependencies: Object.keys(dependencies), exports: Object.keys(exports) }
}

const low = ['model', 'base']

/** Packages from the top, and what each may depend on. `docs/architecture.md` explains them. */
const mayDepend: Readonly<Record<string, readonly string[]>> = {
  app: ['gateway', 'builds', 'providers', 'engine', 'external', 'agent', 'proxy', 'ports', ...low],
  gateway: ['proxy', 'ports', ...low],
  builds: ['ports', ...low],
  providers: ['ports', ...low],
  engine: ['ports', ...low],
  external: ['ports', ...low],
  cli: low,
  agent: ['proxy', 'base'],
  proxy: ['base'],
  ports: low,
  model: ['base'],
  base: [],
}

test('packages depend on those below them, and import what their package.json names', () => {
  assert.ok(imports.length > 1_000, 'the imports of packages/ are read')
  assert.deepEqual([...manifests.keys()].sort(), Object.keys(mayDepend).sort())
  for (const [name, { dependencies }] of manifests) {
    const own = dependencies.flatMap((one) =>
      one.startsWith('@fairlead/') ? one.slice('@fairlead/'.length) : [],
    )
    for (const below of own)
      assert.ok(mayDepend[name]?.includes(below), `${name} may not depend on ${below}`)
    const taken = new Set(
      imports.filter(({ from }) => packageOf(from) === name).map(({ to }) => packageOf(to)),
    )
    taken.delete(name)
    assert.deepEqual([...taken].sort(), own.sort(), `dependencies of ${name}`)
    const foreign = new Set(
      filesIn(join(packages, name)).flatMap((file) =>
        [
          ...readFileSync(join(packages, name, file), 'utf8').matchAll(
            /(?:\bfrom |\bimport\(|^import )'((?:@(?!fairlead)[\w-]+\/)?[a-z][\w.-]*)[/']/gm,
          ),
        ]
          .map(([, each = '']) => each)
          .filter((each) => !isBuiltin(each)),
      ),
    )
    assert.deepEqual(
      [...foreign].sort(),
      dependencies.filter((one) => !one.startsWith('@fairlead/')).sort(),
      `packages of ${name}`,
    )
  }
})

test('packages export what others import, and nothing else', () => {
  const outside = ['bin', 'console'].flatMap((folder) => readImports(resolve(root, folder)))
  const wanted = Map.groupBy(
    [
      ...imports.filter(({ from, to }) => packageOf(from) !== packageOf(to)),
      ...outside.filter(({ to }) => manifests.has(packageOf(to))),
    ],
    ({ to }) => packageOf(to),
  )
  for (const [name, { exports }] of manifests) {
    if (exports.includes('./*')) continue
    const files = new Set((wanted.get(name) ?? []).map(({ to }) => `.${to.slice(name.length)}`))
    assert.deepEqual(exports, [...files].sort(), `exports of ${name}`)
  }
})

test('the folders of a package do not import each other in a circle', () => {
  for (const name of manifests.keys()) {
    const rooms = imports.flatMap(({ from, to }) => {
      const [importing, imported] = [roomOf(from), roomOf(to)]
      const isInside = packageOf(from) === name && packageOf(to) === name && importing !== imported
      return isInside && importing !== undefined && imported !== undefined
        ? [{ from: importing, to: imported }]
        : []
    })
    assert.equal(findCircle(rooms), undefined)
  }
})

/** Folder of a file, undefined for one that lies loose in its package. */
function roomOf(file: string): string | undefined {
  const [name, folder, ...rest] = file.split('/')
  return rest.length === 0 ? undefined : `${name}/${folder}`
}

function findCircle(edges: readonly Import[]): string | undefined {
  const targets = Map.groupBy(edges, ({ from }) => from)
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): string | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file].join(' → ')
    if (done.has(file)) return undefined
    for (const { to } of targets.get(file) ?? []) {
      const circle = visit(to, [...path, file])
      if (circle !== undefined) return circle
    }
    done.add(file)
    return undefined
  }
  return targets
    .keys()
    .map((file) => visit(file, []))
    .find((circle) => circle !== undefined)
}

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
      [packages, consoleRoot, resolve(root, 'bin')]
        .flatMap((folder) => filesWith(pattern, folder))
        .filter(
          (file) =>
            !file.startsWith('base/runtime/') &&
            !(name === 'a prototype' && file === 'model/exact-json.ts'),
        ),
      [],
      'a named function of packages/base/runtime/',
    )
  })
}

function filesWith(pattern: RegExp, folder: string): string[] {
  return filesIn(folder).filter((file) => pattern.test(readFileSync(join(folder, file), 'utf8')))
}

test('files do not import each other in a circle', () => {
  for (const edges of [imports, readImports(consoleRoot)]) {
    assert.ok(edges.length > 500, 'the imports are read')
    assert.equal(findCircle(edges), undefined)
  }
})

test('docs/architecture.md names every package in order', () => {
  const page = readFileSync(resolve(root, 'docs/architecture.md'), 'utf8')
  const table = page.slice(page.indexOf('## Packages'), page.indexOf('## To change'))
  assert.deepEqual(
    [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name),
    Object.keys(mayDepend),
  )
})

test('a cloud provider is named in its folder only', () => {
  // Profiles of the configuration, the lease, paths and host names share the word of one, examples, foreign keys and external services that of another.
  const ids = ['kubernetes', 'local']
  const named = new RegExp(
    `['"\`](/?)(${ids.join('|')})(['"\`/]|\\.[a-z])|[Pp]rovider \`?(${ids.join('|')})\\b`,
  )
  const allowed =
    /^(packages\/providers\/|packages\/base\/settings\/standalone\.ts$|packages\/app\/standby\/settings\.ts$|packages\/app\/config\/(profiles|sources|foreign-keys)\.ts$|packages\/gateway\/operations\/(serving\/examples|serving\/openapi|resources\/capabilities)\.ts$|packages\/model\/secrets\/secret-names\.ts$|bin\/command-name\.ts$|console\/src\/api\/schema\.d\.ts$)/
  const found = ['packages', 'bin', 'console/src'].flatMap((folder) => {
    const files = readdirSync(resolve(root, folder), { recursive: true, encoding: 'utf8' })
    return files
      .map((file) => `${folder}/${file}`)
      .filter((file) => /\.tsx?$/.test(file) && !allowed.test(file))
      .filter((file) => named.test(readFileSync(resolve(root, file), 'utf8')))
  })
  assert.ok(ids.length > 0, 'the providers are found')
  assert.deepEqual(
    found,
    [],
    'ask the type of the provider, or packages/base/settings/standalone.ts',
  )
})
