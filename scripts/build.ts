/**
 * Bundles what is published into `dist/`: one file per entry point, shared and lazily imported parts in files of their own.
 * Everything that the bundle contains comes along, so the package has no dependencies; their licences are collected.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'
import { placeConsole } from './build-console.ts'
import { type Start, writeMerged } from './merge-chunks.ts'

const root = resolve(import.meta.dirname, '..')

/** CommonJS packages in an ES module bundle still ask for `require`. */
const requireBanner = `import { createRequire as createRequireHere } from 'node:module'
const require = createRequireHere(import.meta.url)`

/** Commands that load about the same: those of a row may load what one of them needs. */
const commandStarts = [
  ['health', 'agent'],
  ['user', 'token', 'image', 'audit', 'restore'],
  ['stop', 'backup'],
  ['openapi', 'dashboards', 'install'],
  ['check', 'doctor', 'move'],
  ['explain'],
]

const unpacking = ['packages/providers/images/unpack.ts', 'node_modules/tar/dist/esm/index.min.js']

/** Processes beside the server, with what they load lazily: without a start of their own they would load what the server shares with it. */
const processStarts = [
  ['packages/agent/main.ts', 'packages/agent/agent-work.ts'],
  ['packages/providers/images/unpacker.ts', ...unpacking],
  ['packages/providers/images/unpacker.ts', ...unpacking, 'packages/ports/image-file.ts'],
  ['packages/providers/local/bakes/builder.ts', ...unpacking],
]

/** Writes the bundle and the console to `outDir`, which is emptied first, and returns the names of the packages that they contain. */
export async function buildPackage(outDir: string): Promise<string[]> {
  mkdirSync(outDir, { recursive: true })
  for (const name of readdirSync(outDir))
    if (name !== 'console') rmSync(join(outDir, name), { recursive: true, force: true })
  const built = await placeConsole(join(outDir, 'console'))
  const metafile = await bundle(
    {
      fairlead: 'bin/fairlead.js',
      worker: 'packages/app/hosting/worker.ts',
      'document-worker': 'packages/base/json/bodies/document-worker.ts',
      'password-worker': 'packages/gateway/login/form/password-worker.ts',
      'response-worker': 'packages/gateway/login/saml/response-worker.ts',
      'judge-worker': 'packages/engine/canaries/judge-worker.ts',
      agent: 'packages/agent/main.ts',
      builder: 'packages/providers/local/bakes/builder.ts',
      'build-runner': 'packages/builds/local/runner.ts',
      unpacker: 'packages/providers/images/unpacker.ts',
    },
    outDir,
    [
      ['bin/fairlead.ts', 'bin/serve.ts', 'packages/app/gateway.ts'],
      ['bin/fairlead.ts', 'bin/backends.ts'],
      ...processStarts,
      ...commandStarts.map((names) => ['fairlead', ...names].map((name) => `bin/${name}.ts`)),
    ],
  )
  copyFileSync(
    join(root, 'packages/providers/local/databases/database.sh'),
    join(outDir, 'database.sh'),
  )
  // It is copied into images, where no other part of the bundle is.
  await build({
    absWorkingDir: root,
    entryPoints: ['packages/builds/local/sources/static-server.ts'],
    outdir: outDir,
    format: 'esm',
    target: 'node26',
  })
  const client = await bundleClient(join(outDir, 'cli'))
  for (const each of [metafile, client]) {
    checkAddresses(each)
    checkLazyImports(each)
  }
  chmodSync(join(outDir, 'fairlead.js'), 0o755)
  const packages = [
    ...new Set([...bundledPackages(metafile), ...bundledPackages(client), ...built.packages]),
  ].sort()
  writeFileSync(
    join(outDir, 'THIRD-PARTY-LICENSES.txt'),
    packages.map(licenceOf).join(`\n${'-'.repeat(80)}\n\n`),
  )
  writeFileSync(
    join(outDir, 'sbom.cdx.json'),
    `${JSON.stringify(toBillOfMaterials(packages), null, 2)}\n`,
  )
  return packages.map(packageName)
}

/** What the bundle consists of, in the format CycloneDX 1.6. @param packages Folders, relative to the repository */
function toBillOfMaterials(packages: readonly string[]) {
  const own = readPackage('.')
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', ...own, 'bom-ref': own.purl } },
    components: packages.map((folder) => ({ type: 'library', ...readPackage(folder) })),
  }
}

function readPackage(folder: string) {
  const { name, version, license } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  ) as Record<string, string>
  const purl = `pkg:npm/${name?.replace('@', '%40')}@${version}`
  return {
    name,
    version,
    purl,
    ...(license !== undefined && { licenses: [{ expression: license }] }),
  }
}

/**
 * @param entryPoints Files of the repository, by the names that they get in `outDir`; each is a start
 * @param starts Others, which a lazy import begins
 */
export async function bundle(
  entryPoints: Record<string, string>,
  outDir: string,
  starts: readonly Start[] = [],
): Promise<Metafile> {
  const built = await build({
    absWorkingDir: root,
    entryPoints,
    outdir: outDir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    // Names stay readable in stack traces; only white space goes.
    minifyWhitespace: true,
    legalComments: 'none',
    banner: { js: requireBanner },
    metafile: true,
    write: false,
    logLevel: 'warning',
    plugins: [leaveOut, requireHttp, clientApart],
  })
  const all = [...Object.values(entryPoints).map((file) => [file]), ...starts]
  await writeMerged(built, root, outDir, all)
  return built.metafile
}

/** The commands against an instance: files of their own, for an earlier Node than the server needs. */
async function bundleClient(outDir: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: 'packages/cli/main.ts' },
    outdir: outDir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    minifyWhitespace: true,
    legalComments: 'none',
    banner: { js: requireBanner },
    metafile: true,
    logLevel: 'warning',
    plugins: [leaveOut],
  })
  return metafile
}

/** The entry point loads the commands against an instance from their own files. */
const clientApart: Plugin = {
  name: 'client-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^@fairlead\/cli\/main\.ts$/ }, () => ({
      path: './cli/main.js',
      external: true,
    }))
  },
}

/**
 * Code that Fairlead never runs, and that would be source text in the memory of each thread: other languages of zod, compilers of
 * JSON schemas (packages/gateway/http/without-schemas.ts), what metrics would take exemplars from, and of undici all but its client.
 */
const leaveOut: Plugin = {
  name: 'leave-out',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\.\/locales\/index\.js$/ }, ({ importer, resolveDir }) =>
      importer.includes('/node_modules/zod/')
        ? { path: join(resolveDir, '../locales/en.js'), namespace: 'one-language' }
        : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'one-language' }, ({ path }) => ({
      contents: `export { default as en } from ${JSON.stringify(path)}`,
      resolveDir: dirname(path),
    }))
    onResolve(
      { filter: /^@fastify\/(?:ajv-compiler|fast-json-stringify-compiler)$/ },
      ({ path }) => ({
        path,
        namespace: 'no-compiler',
      }),
    )
    onLoad({ filter: /.*/, namespace: 'no-compiler' }, ({ path }) => ({
      contents: `module.exports = () => { throw new Error(${JSON.stringify(`${path} is not part of the bundle`)}) }`,
    }))
    onResolve({ filter: /^@opentelemetry\/api$/ }, ({ path, importer }) =>
      importer.includes('/node_modules/prom-client/')
        ? { path, namespace: 'no-exemplars' }
        : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'no-exemplars' }, () => ({ contents: '' }))
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'one-client' }))
    onLoad({ filter: /.*/, namespace: 'one-client' }, () => ({
      contents:
        "Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api')); exports.Client = require('./lib/dispatcher/client')",
      resolveDir: join(root, 'node_modules/undici'),
    }))
  },
}

/**
 * `node:http` by `require`: an import reads all that it exports, among it the WebSocket of Node, which loads a second HTTP client: 40 ms of each
 * start and 3 MiB of memory.
 */
const requireHttp: Plugin = {
  name: 'require-http',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement'
        ? { path: 'node:http', namespace: 'require-http' }
        : { path: 'node:http', external: true },
    )
    onLoad({ filter: /.*/, namespace: 'require-http' }, () => ({
      contents: "module.exports = require('node:http')",
    }))
  },
}

/** What the bundle has in the same place as the sources; any other file beside a source would be missing. */
const sharedAddresses = [
  "'./worker.js'",
  "'./document-worker.js'",
  "'./password-worker.js'",
  "'./response-worker.js'",
  "'./judge-worker.js'",
  "'./agent.js'",
  "'./builder.js'",
  "'./build-runner.js'",
  "'./static-server.js'",
  "'./database.sh'",
  "'./unpacker.js'",
  "'../package.json'",
  "'../../package.json'",
  "'../dist/console/'",
  "'../deploy/monitoring/'",
  "'../deploy/systemd/'",
  "'../'",
]

function checkAddresses(metafile: Metafile): void {
  const address = /new URL\(.*?import\.meta\.url\)|import\.meta\.(dirname|filename)/g
  for (const file of Object.keys(metafile.inputs).filter(
    (input) => !input.includes('node_modules/') && !isReplaced(input),
  )) {
    for (const [text] of readFileSync(join(root, file), 'utf8').matchAll(address)) {
      const isShared = sharedAddresses.some((shared) => text.includes(shared))
      if (!isShared)
        throw new Error(
          `${file} looks for a file beside itself, which the bundle does not have: ${text}`,
        )
    }
  }
}

/** Whether it stands for something else, see `leaveOut`. */
function isReplaced(input: string): boolean {
  return /^[\w-]+:/.test(input)
}

/** A CommonJS package that is imported lazily has only a default export in the bundle, whatever Node makes of its names. */
function checkLazyImports({ inputs }: Metafile): void {
  for (const [file, { imports }] of Object.entries(inputs)) {
    if (file.includes('node_modules/')) continue
    for (const { kind, path, original = path } of imports) {
      if (kind !== 'dynamic-import' || inputs[path]?.format !== 'cjs') continue
      // Or no name at all, for what it does.
      const takesDefault = new RegExp(
        `(?:\\{ default: \\w+ \\} = |^\\s*)await import\\('${RegExp.escape(original)}'\\)`,
        'm',
      )
      if (takesDefault.test(readFileSync(join(root, file), 'utf8'))) continue
      throw new Error(
        `${file} lazily imports names of ${original}, which the bundle does not have: take its default export`,
      )
    }
  }
}

/** Folders of the packages whose code is in the bundle, relative to the repository, sorted. */
function bundledPackages(metafile: Metafile): string[] {
  const folders = new Set<string>()
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]
      if (folder !== undefined && bytesInOutput > 0 && !isReplaced(input)) folders.add(folder)
    }
  }
  return [...folders].sort()
}

function packageName(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function licenceOf(folder: string): string {
  const { version, license } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  ) as Record<string, string>
  const files = globSync('{licen[cs]e,copying,notice}*', { cwd: join(root, folder) }).concat(
    globSync('{LICEN[CS]E,COPYING,NOTICE,License}*', { cwd: join(root, folder) }),
  )
  const texts = [...new Set(files)]
    .sort()
    .map((file) => readFileSync(join(root, folder, file), 'utf8').trim())
  return `${packageName(folder)} ${version} (${license ?? 'see below'})\n\n${texts.join('\n\n')}\n`
}

if (import.meta.main) {
  const outDir = join(root, 'dist')
  if (!existsSync(join(root, 'node_modules/esbuild'))) throw new Error('Run npm ci first.')
  const packages = await buildPackage(outDir)
  console.log(`${relative(root, outDir)}/ holds Fairlead and ${packages.length} packages`)
}
