/** The interface files of control groups, in a plain folder: the kernel takes and gives the same texts. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  createGroup,
  joinGroup,
  listGroups,
  membersOfGroup,
  memoryKills,
} from '../../packages/agent/control-groups.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

test('limits, members and ends of a control group are read and written', (t) => {
  const folder = createFolder('groups')
  t.after(() => removeFolder(folder))
  const group = join(folder, 'one')
  const limits = {
    memoryBytes: 1024,
    processes: undefined,
    openFiles: 1,
    diskBytes: 1,
    consoleBytes: 1,
  }
  createGroup(group, limits)
  const written = readdirSync(group).map((name) => [name, readFileSync(join(group, name), 'utf8')])
  assert.deepEqual(Object.fromEntries(written), {
    'memory.max': '1024',
    'memory.oom.group': '1',
    'pids.max': 'max',
  })
  assert.deepEqual([memoryKills(group), membersOfGroup(group)], [0, []])

  joinGroup(group, 17)
  writeFileSync(
    join(group, 'memory.events'),
    'low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 1\n',
  )
  assert.deepEqual([memoryKills(group), membersOfGroup(group)], [3, [17]])
  assert.deepEqual(listGroups(folder), [group])
})
