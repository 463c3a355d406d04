/**
 * The guide about Express, FastAPI and Go, followed on a standalone instance: its files, and its commands word for word. The registries
 * of packages are folders here, whose packages have the names and the interfaces that the guide uses.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInBash } from '../../support/bash.ts'
import { claimPorts } from '../../support/free-port.ts'
import { goCache, linkGoCache } from '../../support/go-cache.ts'
import { apiFunction, blocksOf, readGuide } from '../../support/guide.ts'
import { startInstance } from '../../support/instance.ts'
import { program } from '../../support/program.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

/** A first build of Go compiles its library. */
const longestMs = 900_000
const password = 'correct-horse-battery'
const guide = readGuide('deploy-web-frameworks')
const section = (heading: string) =>
  guide.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
const commandsOf = (heading: string) => blocksOf(section(heading), 'bash').join('\n')

/** Follows a section and then the last one, in a folder that has the files. @returns what the deployed program answers */
async function follow(
  t: TestContext,
  heading: string,
  files: Readonly<Record<string, string>>,
  {
    commands,
    settings,
  }: { readonly commands: string; readonly settings?: Readonly<Record<string, string>> },
): Promise<string> {
  const folder = createFolder('framework')
  t.after(() => removeFolder(folder))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const { port, env } = await startInstance(t, {
    command: `exec '${process.execPath}' '${program}' serve`,
    cwd: folder,
    env: { FAIRLEAD_ADMIN_PASSWORD: password, ...settings },
  })
  linkGoCache(env['FAIRLEAD_DATA_DIR'] ?? '', 'local')
  const { last: balancer } = await claimPorts(t)
  const script =
    `set -eo pipefail\nPASSWORD=${password}\n${apiFunction()}\n${commands}\n${commandsOf('Bake and deploy')}`
      .replaceAll('localhost:8084', `127.0.0.1:${port}`)
      .replaceAll('localhost:8081', `127.0.0.1:${balancer}`)
      .replaceAll('Port": 8081', `Port": ${balancer}`)
  const { code, output, errors } = await runInBash(t, script, {
    cwd: folder,
    env: { ...env, GOPROXY: 'off' },
    timeout: longestMs,
  })
  assert.equal(
    code,
    0,
    `${heading}:\n${output}\n${errors}\n${code === 0 ? '' : await logsOf(port)}`,
  )
  return output.trim().split('\n').at(-1) ?? ''
}

async function logsOf(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/applications/hello/pipelines`, {
    headers: { authorization: `Basic ${btoa(`admin:${password}`)}` },
  })
  return answer.text()
}

function whyNot(program: string, what: string, ...args: string[]): string | false {
  return spawnSync(program, args).status === 0 ? false : `${what} is not installed`
}

/** A package as npm packs it, with what the guide uses of Express. */
function packExpress(t: TestContext): string {
  const folder = createFolder('express')
  t.after(() => removeFolder(folder))
  writeFileSync(
    join(folder, 'package.json'),
    '{"name": "express", "version": "5.0.0", "main": "index.cjs"}',
  )
  writeFileSync(
    join(folder, 'index.cjs'),
    `const { createServer } = require('node:http')
module.exports = () => {
  const routes = new Map()
  return {
    get: (path, handle) => routes.set(path, handle),
    listen: (...address) => createServer((request, response) =>
      routes.get(request.url)(request, { send: (text) => response.end(text) })).listen(...address),
  }
}
`,
  )
  execFileSync('npm', ['pack', '--silent'], { cwd: folder })
  return join(folder, 'express-5.0.0.tgz')
}

test('the guide for Express ends with its greeting', async (t) => {
  const [server = ''] = blocksOf(section('Express'), 'js')
  const commands = `cp ${packExpress(t)} .\n${commandsOf('Express').replace('install express', 'install ./express-5.0.0.tgz')}`
  assert.equal(
    await follow(t, 'Express', { 'server.mjs': server }, { commands }),
    'hello from Express',
  )
})

const modules = {
  fastapi: `class FastAPI:
    def __init__(self):
        self.routes = {}
    def get(self, path):
        return lambda handle: self.routes.setdefault(path, handle)
`,
  uvicorn: `from http.server import BaseHTTPRequestHandler, HTTPServer
import json
def run(app, host, port):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(app.routes[self.path]()).encode())
    HTTPServer((host, port), Handler).serve_forever()
`,
}

/** A folder of wheels, with what the guide uses of FastAPI and Uvicorn. */
function packWheels(t: TestContext): string {
  const folder = createFolder('wheels')
  t.after(() => removeFolder(folder))
  const script = `import sys, json, zipfile
for name, text in json.loads(sys.argv[1]).items():
    with zipfile.ZipFile(name + '-1.0-py3-none-any.whl', 'w') as wheel:
        info = name + '-1.0.dist-info/'
        wheel.writestr(name + '.py', text)
        wheel.writestr(info + 'METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n')
        wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr(info + 'RECORD', '')
`
  execFileSync('python3', ['-c', script, JSON.stringify(modules)], { cwd: folder })
  return folder
}

const noPython = whyNot('python3', 'Python with pip and venv', '-c', 'import pip, venv, ensurepip')

test('the guide for FastAPI ends with its greeting', { skip: noPython }, async (t) => {
  const [main = ''] = blocksOf(section('FastAPI'), 'python')
  const wheels = packWheels(t)
  const options = `--no-index\n--find-links ${wheels}\n`
  // pip freeze prints no options, and a bake sees no variables of the shell.
  const commands = `${commandsOf('FastAPI').replace('install ', 'install --requirement options.txt ')}
cat requirements.txt >> options.txt && mv options.txt requirements.txt`
  const files = { 'main.py': main, 'options.txt': options }
  assert.equal(
    await follow(t, 'FastAPI', files, { commands, settings: { LOCAL_READABLE: wheels } }),
    '"hello from FastAPI"',
  )
})

test('the guide for Go ends with its greeting', {
  skip: whyNot('go', 'Go', 'version'),
}, async (t) => {
  const [main = ''] = blocksOf(section('Go'), 'go')
  const options = { commands: commandsOf('Go'), settings: { LOCAL_READABLE: goCache.join() } }
  assert.equal(await follow(t, 'Go', { 'main.go': main }, options), 'hello from Go')
})
