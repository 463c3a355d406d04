/** Clients that openapi-generator makes in Go and Java compile. It runs from its npm package where both languages are installed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { subjects } from '../../../packages/gateway/operations/all.ts'
import { formatOpenApi } from '../../../packages/gateway/operations/serving/openapi.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const wrapper = '@openapitools/openapi-generator-cli@2.41.0'
const generator = '7.25.0'
/** Generators and compilers run once: optimizing and verifying them costs more than it saves, and so does collecting garbage often. */
const java = [
  '-XX:TieredStopAtLevel=1',
  '-XX:+UnlockDiagnosticVMOptions',
  '-XX:-BytecodeVerificationRemote',
  '-XX:+UseSerialGC',
  '-Xms512m',
  '-Xmn300m',
]
/** Tests of the code would need more libraries, and nothing reads the documentation. */
const codeAlone = { apiDocs: 'false', apiTests: 'false', modelDocs: 'false', modelTests: 'false' }
const languages = {
  go: { packageName: 'fairlead' },
  java: { library: 'native', openApiNullable: 'false' },
}

test('clients in Go and Java compile', { timeout: 1_200_000 }, async (t) => {
  for (const [program, argument] of [
    ['java', '-version'],
    ['javac', '-version'],
    ['go', 'version'],
  ] as const) {
    if (!(await isInstalled(program, argument))) return t.skip(`${program} is not installed`)
  }
  const folder = openFolder(t)
  const archive = join(folder, `${generator}.jar`)
  if (!(await fetchGenerator(folder))) return t.skip('openapi-generator cannot be fetched')
  await generate(folder, archive)
  await compileGo(join(folder, 'go'))
  await compileJava(join(folder, 'java'), archive)
})

async function isInstalled(program: string, argument: string): Promise<boolean> {
  return run(program, [argument]).then(
    () => true,
    () => false,
  )
}

function openFolder(t: TestContext): string {
  const folder = createFolder('generators')
  t.after(() => removeFolder(folder))
  writeFileSync(
    join(folder, 'api.json'),
    JSON.stringify(formatOpenApi(subjects, { version: '1.2.3' })),
  )
  writeFileSync(
    join(folder, 'openapitools.json'),
    JSON.stringify({ 'generator-cli': { version: generator, storageDir: folder } }),
  )
  return folder
}

/** The package fetches the archive itself at its first call. */
function fetchGenerator(folder: string): Promise<boolean> {
  const command = [
    'exec',
    '--yes',
    `--package=${wrapper}`,
    '--',
    'openapi-generator-cli',
    'version',
  ]
  return run('npm', command, {
    cwd: folder,
    env: { ...process.env, INIT_CWD: folder, PWD: folder },
  }).then(Boolean, () => false)
}

async function generate(folder: string, archive: string): Promise<void> {
  const files = Object.entries(languages).map(([language, properties]) => {
    const file = join(folder, `${language}.json`)
    const options = {
      generatorName: language,
      inputSpec: 'api.json',
      outputDir: language,
      additionalProperties: properties,
    }
    writeFileSync(file, JSON.stringify({ ...options, ...properties, globalProperties: codeAlone }))
    return file
  })
  await run('java', [...java, '-jar', archive, 'batch', '--fail-fast', ...files], {
    cwd: folder,
    maxBuffer: 64 << 20,
  })
}

/**
 * One check of `go vet`: it refuses what the compiler would, whose code for this many types would take ten times as long. Without
 * paths in their results, Go finds its own packages in its cache.
 */
async function compileGo(folder: string): Promise<void> {
  writeFileSync(join(folder, 'go.mod'), 'module fairlead\n\ngo 1.23\n')
  await run('go', ['vet', '-mod=mod', '-trimpath', '-assign', './...'], {
    cwd: folder,
    env: { ...process.env, GOFLAGS: '', GOPROXY: 'off', GOGC: 'off' },
  })
}

/** The generator's own archive holds the libraries that its clients use, but for one annotation. */
async function compileJava(folder: string, archive: string): Promise<void> {
  const sources = join(folder, 'src/main/java')
  mkdirSync(join(sources, 'javax/annotation'), { recursive: true })
  writeFileSync(
    join(sources, 'javax/annotation/Generated.java'),
    'package javax.annotation;\npublic @interface Generated { String value(); String date() default ""; String comments() default ""; }\n',
  )
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.java'),
  )
  assert.ok(files.length > 100, 'classes were generated')
  writeFileSync(join(folder, 'files'), files.map((name) => join(sources, name)).join('\n'))
  const options = java.map((option) => `-J${option}`)
  await run('javac', [
    ...options,
    '-proc:none',
    // Code that the compiler accepts is not written.
    '-XDshould-stop.ifNoError=FLOW',
    '-nowarn',
    '-d',
    join(folder, 'classes'),
    '-cp',
    archive,
    `@${join(folder, 'files')}`,
  ])
}
