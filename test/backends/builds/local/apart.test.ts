import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGitServer } from '../../../support/git-server.ts'
import { neighbour, sandboxAttacks } from '../../../support/sandbox-attacks.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitFor } from '../../../support/wait-until.ts'
import { startLocalBuilds } from './support.ts'

test('builds of one user on one machine are apart, and nothing of them stays', async (t) => {
  const dataDir = createFolder('builds-apart')
  t.after(() => removeFolder(dataDir))
  const attacks = sandboxAttacks(dataDir)
  const builds = await startLocalBuilds(t, {
    dataDir,
    settings: {
      jobs: [
        {
          name: 'victim',
          application: 'a',
          environment: neighbour,
          steps: ['echo begins; touch victim.txt; sleep 600'],
        },
        { name: 'attacker', application: 'b', steps: attacks.steps },
      ],
    },
  })
  const victim = await builds.start('victim')
  await builds.numberOf(victim)
  await waitFor(
    async () => (await builds.log('victim', 1)).includes('begins') || undefined,
    'the neighbour',
  )
  const { result } = await builds.build('attacker')
  const log = await builds.log('attacker', 1)
  assert.equal(result, 'SUCCESS', log)
  await attacks.assertHeld(log)
  assert.equal((await builds.ask('PUT', '/masters/local/jobs/stop/1/1?jobName=victim')).status, 200)
  await builds.ended('victim', 1)
})

test('what a build puts in the place of its archive leads nowhere', async (t) => {
  const dataDir = createFolder('builds-archive')
  t.after(() => removeFolder(dataDir))
  const name = 'private.txt'
  writeFileSync(join(dataDir, name), neighbour.NEIGHBOUR)
  const builds = await startLocalBuilds(t, {
    dataDir,
    settings: {
      jobs: [{ name: 'attacker', steps: [`rm -rf ../archive; ln -s '${dataDir}' ../archive`] }],
    },
  })
  const { result } = await builds.build('attacker')
  const { body } = await builds.ask('GET', `/builds/file/1/local/attacker?path=${name}`)
  assert.equal(result, 'FAILURE', String(body))
  assert.ok(!String(body).includes(neighbour.NEIGHBOUR))
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
    settings: {
      repositories: [
        { name: 'web', application: 'web', repository: { url: git.url }, images: ['base'] },
      ],
    },
  })
  const expected = { own: 'SUCCESS', foreign: 'FAILURE', longer: 'FAILURE', allowed: 'SUCCESS' }
  for (const [name, result] of Object.entries(expected)) {
    const build = await builds.build(`web/${name}`)
    assert.equal(build['result'], result, await builds.log(`web/${name}`, 1))
  }
  assert.match(
    await builds.log('web/foreign', 1),
    /"bank", and has the application web\. .*"images"/,
  )
})
