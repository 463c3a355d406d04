import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { backendHeader } from '../../../../src/backends/backend.ts'
import { startGitServer } from '../../../support/git-server.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitFor } from '../../../support/wait-until.ts'
import { startLocalBuilds } from './support.ts'

const marker = 'value-of-the-neighbour'

test('builds of one user on one machine are apart, and nothing of them stays', async (t) => {
  const dataDir = createFolder('builds-apart')
  t.after(() => removeFolder(dataDir))
  const instances = join(dataDir, 'instances')
  const attacks = {
    environments: `cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep "^NEIGHBOUR=" && exit 1`,
    folders: `find '${instances}' -name victim.txt | grep . && exit 1`,
    caches: `ls '${join(dataDir, 'build-caches')}' | grep -vx "$(basename "$XDG_CACHE_HOME")" && exit 1`,
    data: `find '${dataDir}' -name '*.db*' -o -name '*.key' -o -name '*.sock' | grep . && exit 1`,
    // What is above the working folder is memory of the sandbox.
    writes: `for place in '${dataDir}' '${instances}' /usr /etc; do echo x > $place/intruder || :; done 2>/dev/null`,
  }
  const steps = Object.entries(attacks).map(([name, line]) => `${line}; echo "${name}: nothing"`)
  const builds = await startLocalBuilds(t, {
    dataDir,
    settings: {
      jobs: [
        {
          name: 'victim',
          application: 'a',
          environment: { NEIGHBOUR: marker },
          steps: ['echo begins; touch victim.txt; sleep 600'],
        },
        {
          name: 'attacker',
          application: 'b',
          steps: [...steps, `setsid env -i ${marker}=1 sleep 600 >/dev/null 2>&1 & sleep 0.2`],
        },
      ],
    },
  })
  const victim = await builds.start('victim')
  await builds.numberOf(victim)
  await waitFor(async () => (await builds.log('victim', 1)).includes('begins') || undefined, 'the neighbour')
  const { result } = await builds.build('attacker')
  const log = await builds.log('attacker', 1)
  assert.equal(result, 'SUCCESS', log)
  for (const name of Object.keys(attacks)) assert.ok(log.includes(`${name}: nothing`), log)
  for (const place of [dataDir, instances, '/usr', '/etc']) assert.ok(!existsSync(join(place, 'intruder')), place)
  const leftBehind = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && environmentOf(pid).startsWith(`${marker}=`))
  await waitFor(() => leftBehind().length === 0 || undefined, 'the end of what the build has left')
  assert.equal((await builds.ask('PUT', '/masters/local/jobs/stop/1/1?jobName=victim')).status, 200)
  await builds.ended('victim', 1)
})

test('what a build puts in the place of its archive leads nowhere', async (t) => {
  const dataDir = createFolder('builds-archive')
  t.after(() => removeFolder(dataDir))
  const name = 'private.txt'
  writeFileSync(join(dataDir, name), marker)
  const builds = await startLocalBuilds(t, {
    dataDir,
    settings: { jobs: [{ name: 'attacker', steps: [`rm -rf ../archive; ln -s '${dataDir}' ../archive`] }] },
  })
  const { result } = await builds.build('attacker')
  const { body } = await builds.ask('GET', `/builds/file/1/local/attacker?path=${name}`, undefined, { [backendHeader]: 'true' })
  assert.equal(result, 'FAILURE', String(body))
  assert.ok(!String(body).includes(marker))
  assert.match(await builds.log('attacker', 1), /archive is no folder, but a link/)
})

test('jobs of repositories publish images of their application only', async (t) => {
  const git = await startGitServer(t)
  const job = (image: string) => `{ steps: [echo x > f], publish: { image: ${image} } }`
  // There is an application of that name.
  const ofOther = 'web-shop-api'
  git.commit({
    '.fairlead/build.yml': `jobs: { own: ${job('web-api')}, foreign: ${job('bank')}, longer: ${job(ofOther)}, allowed: ${job('base')} }`,
    'fairlead-image.yml': 'command: [sh]\n',
  })
  const builds = await startLocalBuilds(t, {
    settings: { repositories: [{ name: 'web', application: 'web', repository: { url: git.url }, images: ['base'] }] },
  })
  const expected = { own: 'SUCCESS', foreign: 'FAILURE', longer: 'FAILURE', allowed: 'SUCCESS' }
  for (const [name, result] of Object.entries(expected)) {
    const build = await builds.build(`web/${name}`)
    assert.equal(build['result'], result, await builds.log(`web/${name}`, 1))
  }
  assert.match(await builds.log('web/foreign', 1), /"bank", and has the application web\. .*"images"/)
})

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}
