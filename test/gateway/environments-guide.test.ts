/** The guide about environments, followed word for word. */
import assert from 'node:assert/strict'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { runInBash } from '../support/bash.ts'
import { claimPorts } from '../support/free-port.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { startInstance } from '../support/instance.ts'
import { program } from '../support/program.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = readGuide('environments')
const [functions = ''] = blocksOf(readGuide('recipes'), 'bash')
const longestMs = 300_000

test('the guide about environments works', { timeout: longestMs }, async (t) => {
  const folder = createFolder('environments')
  t.after(() => removeFolder(folder))
  symlinkSync(join(root, 'examples'), join(folder, 'examples'))
  const { first } = await claimPorts(t)
  const [config = ''] = blocksOf(guide, 'yaml')
  const ranges = (from: number) => `${first + from}-${first + from + 9}`
  const own = config.replace('20000-20999', ranges(0)).replace('21000-21999', ranges(10))
  writeFileSync(join(folder, 'fairlead.yml'), own.replace(/^(server|data): .*\n/gm, ''))
  const { port } = await startInstance(t, {
    command: `exec '${process.execPath}' '${program}' serve --config fairlead.yml`,
    cwd: folder,
    env: { FAIRLEAD_ADMIN_PASSWORD: 'correct-horse-battery' },
  })
  const run = async (commands: string) => {
    const here = [functions, commands].join('\n').replaceAll('localhost:8084', `localhost:${port}`)
    const { code, output, errors } = await runInBash(t, `set -eo pipefail\n${here}`, {
      cwd: folder,
      timeout: longestMs,
    })
    assert.equal(code, 0, `${commands}\n${output}\n${errors}`)
    return output
  }
  const [declare = '', ship = '', show = '', promote = ''] = blocksOf(guide, 'bash')
  const [shown = '', promoted = ''] = blocksOf(guide, 'text')
  await run(declare.replace('["prod"]', '["prd"]'))
  assert.match(
    await run('api /applications/shop/findings'),
    /The environment \\"production\\" names the account \\"prd\\", which does not exist/,
  )
  assert.match(await run(declare), /SUCCEEDED\n$/)
  assert.match(await run(ship), /SUCCEEDED\n$/)
  const soaking = '"waits for 1 more minute of soak time in staging",'
  // The soak time may be over by now.
  assert.equal((await run(show)).replace(soaking, ''), shown.replace(soaking, ''))
  const json = async (path: string) => JSON.parse(await run(`api '/applications/shop/${path}'`))
  const ahead = await json('review?environment=production')
  assert.deepEqual(ahead.changes, [
    { environment: 'production', image: 'hello', from: null, to: '1' },
  ])
  assert.match(ahead.onFailure, /Nothing serves in production yet/)

  assert.equal(await run(promote), promoted)

  const released = await json('releases/4f7c2d1')
  assert.deepEqual([released.version, released.serves], ['1', ['staging', 'production']])
  const judged = released.events.find(({ kind }: { kind: string }) => kind === 'judgment')
  assert.deepEqual([judged.user, judged.comment], ['admin', 'Few errors'])
  const commands = ship.trimEnd().split('\n')
  const second = await run(`
    ${commands[0]?.replace('hello/1?label:commit=4f7c2d1', 'hello/2')}
    ${commands.at(-1)?.replace('"version": "1"', '"version": "2"')}
    (${promote
      .replace('"continue", "judgmentComment": "Few errors"', '"stop", "judgmentComment": "Slow"')
      .replace(
        /^stage=/m,
        'api "/applications/shop/review?execution=${promotion##*/}" >review.json\nstage=',
      )}) || true
    cat review.json; echo; api '/audit/events?operation=updateStageUsingPATCH'`)
  const [review = '', audit = ''] = second.trimEnd().split('\n').slice(-2)
  const { changes, conditions, next, onFailure, judgment } = JSON.parse(review)
  assert.deepEqual([changes[0].from, changes[0].to, judgment.pipeline], ['1', '2', 'promote'])
  assert.deepEqual(
    conditions.map(({ state }: { state: string }) => state),
    ['met', 'waits', 'ahead'],
  )
  assert.match(next[0], /^Deploy shop in prod/)
  assert.match(onFailure, /^1 keeps serving until the new version is up/)
  assert.match(audit, /"comment":"Slow"/)
})
