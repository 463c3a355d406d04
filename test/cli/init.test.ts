/** `fairlead init` and `validate`, as a process in folders of apps. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openAppFolder } from '../../packages/cli/app-folder.ts'
import { mergeEnvironment } from '../../packages/model/app-file/merge-environment.ts'
import { readAppFile } from '../../packages/model/app-file/read-app-file.ts'
import { runCli } from '../support/cli.ts'

function makeFolder(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-init-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

function runIn(cwd: string, line: string) {
  return runCli(line.split(' '), { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: join(cwd, '.config') } })
}

const express = {
  'package.json':
    '{ "name": "@acme/My-Shop", "scripts": { "start": "node server.js" }, "dependencies": { "express": "4" } }',
  'package-lock.json': '{}',
}
const flask = {
  'requirements.txt': 'flask\ngunicorn\n',
  'app.py': 'from flask import Flask\napp = Flask(__name__)\n',
}
const go = { 'go.mod': 'module hello\n', 'main.go': 'package main\n' }
const starters = { Express: express, Flask: flask, Go: go, static: { 'index.html': '<h1>' } }

for (const [name, files] of Object.entries(starters)) {
  test(`app-scenario 34: init in a folder of ${name} writes a file that is valid`, async (t) => {
    const folder = makeFolder(t, files)

    const { code, stderr } = await runIn(folder, 'init --name shop --host shop.example')

    assert.equal(code, 0, stderr)
    const { file, problems } = readAppFile(readFileSync(join(folder, '.fairlead/app.yml'), 'utf8'))
    assert.equal(problems, undefined)
    const { application, services } = mergeEnvironment(file, 'production')
    assert.equal(application, 'shop')
    assert.deepEqual(
      services.map((each) => [each.name, each.hosts[0]?.host]),
      [['web', 'shop.example']],
    )
  })
}

test('app-scenario 35: a second init leaves the file unchanged, unless forced', async (t) => {
  const folder = makeFolder(t, { ...express, '.fairlead/app.yml': 'mine' })

  const second = await runIn(folder, 'init')

  assert.equal(second.code, 3)
  assert.match(second.stderr, /exists already.*--force/)
  assert.equal(readFileSync(join(folder, '.fairlead/app.yml'), 'utf8'), 'mine')
  assert.equal((await runIn(folder, 'init --force')).code, 0)
})

test('without a terminal, what was found answers', async (t) => {
  const folder = makeFolder(t, express)

  const { stdout } = await runIn(folder, 'init --output json')

  assert.partialDeepStrictEqual(JSON.parse(stdout), {
    ...{ application: 'myshop', host: 'myshop.localhost' },
    found: { title: 'Node (Express) with npm', because: ['package.json', 'package-lock.json'] },
  })
})

test('files of the folder come before those of others, of which some may be too many', (t) => {
  const folder = makeFolder(t, { 'assets/a': '', ...express })

  assert.equal([...openAppFolder(folder).paths].at(-1), 'assets/a')
})

test('a Procfile becomes services', async (t) => {
  const folder = makeFolder(t, {
    ...flask,
    'requirements.txt': 'flask\npsycopg\n',
    'compose.yaml': 'services: {}',
    '.env': '# local\r\nexport API_KEY="x=1"\r\nPORT=1\r\nMODE=a\r\n',
    Procfile: 'web: gunicorn app:app\nworker: python w.py\nrelease: python m.py\n',
  })

  const { code, stderr } = await runIn(folder, 'init')

  assert.equal(code, 0)
  assert.match(stderr, /^compose\.yaml is not read: .*"attach"[\s\S]*packages use postgresql/m)
  const text = readFileSync(join(folder, '.fairlead/app.yml'), 'utf8')
  assert.match(text, /^# secrets: \[API_KEY, MODE\]/m)
  assert.match(text, /^# attach: \{ db: postgresql \}$/m)
  const { file } = readAppFile(text)
  assert.equal(file?.services['worker']?.command, 'python w.py')
  assert.deepEqual(file?.release, { command: 'python m.py' })
})

test('app-scenario 81: two programs of Go ask, and without a terminal end with 7', async (t) => {
  const folder = makeFolder(t, {
    'go.mod': 'module x\n',
    'cmd/api/a.go': 'package main\n',
    'cmd/jobs/b.go': 'package main\n',
  })

  const unasked = await runIn(folder, 'init')

  assert.equal(unasked.code, 7)
  assert.match(unasked.stderr, /--program cmd\/api/)
  assert.equal((await runIn(folder, 'init --program cmd/jobs')).code, 0)
  const text = readFileSync(join(folder, '.fairlead/app.yml'), 'utf8')
  assert.match(text, /steps: \["go build -o bin\/jobs \.\/cmd\/jobs"\]/)
  assert.match(text, /^ {4}command: \.\/bin\/jobs$/m)
})

test('app-scenarios 78, 83: what is not deployed as it is comes with a remedy', async (t) => {
  const bare = await runIn(makeFolder(t, { ...flask, 'requirements.txt': 'flask\n' }), 'init')
  const ruby = await runIn(makeFolder(t, { Gemfile: '' }), 'init')

  assert.equal(bare.code, 3)
  assert.match(bare.stderr, /Add gunicorn to requirements\.txt/)
  assert.equal(ruby.code, 3)
  assert.match(ruby.stderr, /FROM ruby/)
})

test('validate names every error, and the line of the first', async (t) => {
  const folder = makeFolder(t, {
    '.fairlead/app.yml':
      'application: shop\nservices:\n  web: { prot: 1 }\n  job: { instances: 500 }\n',
  })

  const { code, stderr } = await runIn(folder, 'validate --output json')

  assert.equal(code, 3)
  const { error } = JSON.parse(stderr) as { error: Record<string, unknown> }
  assert.equal(error['line'], 3)
  assert.match(
    String(error['message']),
    /app\.yml:3:10: services\.web\.prot: .*write port[\s\S]*app\.yml:4:10:/,
  )
})
