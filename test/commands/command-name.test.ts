/** Commands in messages can be typed where their reader is. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type CommandCall, commandName } from '../../bin/command-name.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'fairlead-called-')))
test.after(() => rmSync(folder, { recursive: true }))

const place = (path: string) => {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
  return file
}
const link = (path: string, target: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  symlinkSync(target, join(folder, path))
}

const clone = {
  file: place('a clone/bin/fairlead.js'),
  node: place('a clone/node_modules/node/bin/node'),
}
link('a clone/node_modules/.bin/node', clone.node)
const local = { file: place('project/node_modules/fairlead/dist/fairlead.js') }
link('project/node_modules/.bin/fairlead', local.file)
const installed = { file: place('prefix/lib/node_modules/fairlead/dist/fairlead.js') }
link('prefix/bin/fairlead', installed.file)
const onPath = { PATH: `/nowhere:${join(folder, 'prefix/bin')}` }
const inClone = { ...clone, cwd: join(folder, 'a clone') }
const otherNode = '/usr/bin/node'

const rows: [title: string, call: Partial<CommandCall>, name: string, logged?: boolean][] = [
  ['in a clone', inClone, 'node_modules/.bin/node bin/fairlead.js'],
  ['in a clone, with a Node of its user', { ...inClone, node: otherNode }, 'node bin/fairlead.js'],
  [
    'in a folder of a clone, by npm',
    { ...inClone, env: { INIT_CWD: join(folder, 'a clone/docs') } },
    `'${folder}/a clone/node_modules/.bin/node' '${folder}/a clone/bin/fairlead.js'`,
  ],
  ['in a project', { ...local, cwd: join(folder, 'project') }, 'npx fairlead'],
  [
    'elsewhere, from a project',
    { ...local, cwd: '/' },
    `${folder}/project/node_modules/.bin/fairlead`,
  ],
  ['everywhere', { ...installed, env: onPath }, 'fairlead'],
  ['nowhere on the path', { ...installed }, `node ${installed.file}`],
  [
    'in a container, to those inside',
    { ...installed, env: onPath, container: 'docker' },
    'fairlead',
  ],
  [
    'in a container, to readers of its log',
    { ...installed, env: onPath, container: 'docker', hostname: '0123456789ab' },
    'docker exec -it 0123456789ab fairlead',
    true,
  ],
  [
    'in a container with a host name of its own',
    { ...installed, env: onPath, container: 'podman', hostname: 'gate' },
    'podman exec -it CONTAINER fairlead',
    true,
  ],
  ['everywhere, to readers of its log', { ...installed, env: onPath }, 'fairlead', true],
  [
    'everywhere, with a data directory of its environment',
    { ...installed, env: { ...onPath, FAIRLEAD_DATA_DIR: 'data' } },
    'FAIRLEAD_DATA_DIR=/var/lib/fairlead fairlead',
    true,
  ],
  [
    'in a pod',
    { ...installed, env: onPath, container: 'kubernetes', hostname: 'gate-0' },
    'kubectl exec -it gate-0 -- fairlead',
    true,
  ],
]
for (const [title, call, name, logged = false] of rows) {
  test(`what is installed ${title} is called ${name.replaceAll(folder, '…')}`, () => {
    const complete: CommandCall = {
      file: '',
      node: otherNode,
      env: {},
      cwd: '/',
      container: undefined,
      hostname: 'host',
      ...call,
    }
    assert.equal(commandName(complete, logged ? { dataDir: '/var/lib/fairlead' } : undefined), name)
  })
}
