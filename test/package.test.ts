/** The package: what is published installs on its own and runs, and a clean install of the repository is possible. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { startInstance } from './support/instance.ts'
import { packageFolder } from './support/package-folder.ts'
import { waitFor } from './support/wait-until.ts'

const root = resolve(import.meta.dirname, '..')
const manifests = globSync('{console,packages/*}/package.json', { cwd: root })
const password = 'correct-horse-battery'

test('the packed package installs and serves alone', async (t) => {
  const folder = createFolder(t)
  const packed = await run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
    await preparePackage(t),
  )
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('['))) as [{ filename: string }]
  await run(
    'npm',
    ['install', `./${filename}`, '--prefer-offline', '--no-audit', '--no-fund'],
    folder,
  )

  const licences = readFileSync(
    join(folder, 'node_modules/fairlead/dist/THIRD-PARTY-LICENSES.txt'),
    'utf8',
  )
  assert.match(licences, /^fastify \d/m)
  // Each thread would hold their source text, and none runs it.
  assert.doesNotMatch(licences, /^(?:ajv|@fastify\/ajv-compiler) \d/m)

  // It is copied into images of pages.
  const server = readFileSync(join(folder, 'node_modules/fairlead/dist/static-server.js'), 'utf8')
  const imported = [...server.matchAll(/\bfrom\s*['"]([^'"]+)/g)].map(([, name]) => name)
  assert.ok(imported.length > 3 && imported.every((name) => name?.startsWith('node:')), server)

  // Of the rest, 5 MB, each would cost half a second of processor time; the agent, also 34 MB for as long as it runs.
  const bounds = { agent: 400, builder: 200, unpacker: 800 }
  for (const [name, kilobytes] of Object.entries(bounds)) {
    const sizes = loadedFiles(join(folder, 'node_modules/fairlead/dist'), `${name}.js`)
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0)
    assert.ok(total < kilobytes * 1000, `${name} loads ${inspect(sizes)}`)
  }

  const { url } = await startInstance(t, {
    command: 'exec node_modules/.bin/fairlead serve',
    cwd: folder,
    env: { FAIRLEAD_ADMIN_PASSWORD: password },
  })
  const job = [
    { type: 'createApplication', application: { name: 'packed', email: 'you@example.com' } },
  ]
  const created = await ask(`${url}/tasks`, {
    application: 'packed',
    description: 'Create packed',
    job,
  })
  const { ref } = (await created.json()) as { ref: string }
  assert.equal(await lastStatus(`${url}${ref}`), 'SUCCEEDED')

  assert.equal((await ask(`${url}/applications/packed`)).status, 200)
})

/** Sizes of a file of the bundle and of those that it imports, also lazily. */
function loadedFiles(dist: string, name: string, found = new Map<string, number>()) {
  if (found.has(name)) return found
  const code = readFileSync(join(dist, name), 'utf8')
  found.set(name, code.length)
  for (const [, next = ''] of code.matchAll(/\b(?:from|import)\s*\(?"\.\/([^"]+\.js)"/g))
    loadedFiles(dist, next, found)
  return found
}

test('the package is built when it is packed', () => {
  const { scripts } = readJson('package.json') as { scripts: Record<string, string> }
  assert.equal(scripts['prepack'], 'node scripts/build.ts')
})

test('the package installs nothing else and runs no install script', () => {
  const { dependencies, optionalDependencies, scripts } = readJson('package.json') as Record<
    string,
    Record<string, string>
  >
  assert.deepEqual(
    dependencies ?? {},
    {},
    'The bundle contains every package: list it in devDependencies (npm install --save-dev).',
  )
  assert.deepEqual(optionalDependencies ?? {}, {})
  for (const name of ['preinstall', 'install', 'postinstall'])
    assert.equal(scripts?.[name], undefined)
})

test('dependencies are pinned and run no install scripts', () => {
  const { devDependencies, allowScripts } = readJson('package.json') as Record<
    string,
    Record<string, unknown>
  >
  const pinned = new Map(Object.entries(devDependencies ?? {}))
  for (const file of manifests) {
    const { dependencies = {}, devDependencies: own = {} } = readJson(file) as Record<
      string,
      Record<string, unknown>
    >
    for (const [name, version] of Object.entries({ ...dependencies, ...own }))
      assert.equal(version, pinned.getOrInsert(name, version), `${name} of ${file}`)
  }
  for (const [name, version] of pinned) assert.match(String(version), /^\d+\.\d+\.\d+$/, name)
  const { packages } = readJson('package-lock.json') as {
    packages: Record<string, { hasInstallScript?: boolean; optional?: boolean }>
  }
  const withScript = Object.entries(packages).filter(
    ([, { hasInstallScript, optional }]) => hasInstallScript && !optional,
  )
  for (const [path] of withScript)
    assert.ok(
      path.replace(/^.*node_modules\//, '') in (allowScripts ?? {}),
      `${path} has an install script`,
    )
  assert.deepEqual(
    Object.keys(allowScripts ?? {}).filter((name) => allowScripts?.[name] === true),
    ['node'],
  )
})

test("the lock file names every platform's needs", async (t) => {
  const folder = createFolder(t)
  for (const file of ['package.json', 'package-lock.json', ...manifests])
    cpSync(join(root, file), join(folder, file))
  await run(
    'npm',
    ['ci', '--dry-run', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'],
    folder,
  )
})

/** A folder to pack as npm does the repository, once the script before it has built. */
async function preparePackage(t: TestContext): Promise<string> {
  const folder = createFolder(t)
  cpSync(join(await packageFolder(t), 'dist'), join(folder, 'dist'), { recursive: true })
  for (const entry of readdirSync(root, { withFileTypes: true }))
    if (entry.isFile()) cpSync(join(root, entry.name), join(folder, entry.name))
  return folder
}

function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-package-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

/** What the command wrote; rejects with everything it said when it fails. */
function run(command: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, timeout: 300_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${command} ${args.join(' ')}\n${stdout}\n${stderr}`))
    })
  })
}

function ask(url: string, body?: unknown): Promise<Response> {
  return fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Basic ${btoa(`admin:${password}`)}`,
      'content-type': 'application/json',
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
}

/** Asks for a task until it is over. */
function lastStatus(url: string): Promise<string> {
  return waitFor(async () => {
    const { status } = (await (await ask(url)).json()) as { status: string }
    return status === 'NOT_STARTED' || status === 'RUNNING' ? undefined : status
  }, `the end of ${url}`)
}
