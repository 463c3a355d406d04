/** Random people save, start and submit random things; whatever came of it is held against a model of few lines. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { waitUntil } from '../support/wait-until.ts'
import { type Seeded, startSeeded } from './support.ts'

type Right = 'READ' | 'WRITE' | 'EXECUTE'

/** The model: each application grants a right to the roles in its list, and `open` grants everything to everybody. */
const roles: Record<string, string[]> = {
  ann: ['a'],
  bob: ['a', 'b'],
  cid: ['c'],
  dee: ['b', 'c'],
  robot: ['r'],
  anonymous: [],
}
const applications: Record<string, Record<Right, string[]> | undefined> = {
  alpha: { READ: ['a', 'r'], WRITE: ['a'], EXECUTE: ['a', 'b'] },
  beta: { READ: ['a', 'b', 'c'], WRITE: ['b'], EXECUTE: ['b', 'r'] },
  gamma: { READ: ['c'], WRITE: ['c'], EXECUTE: ['c', 'a'] },
  open: undefined,
}

function may(user: string, right: Right, application: string): boolean {
  const lists = applications[application.toLowerCase()]
  return (
    user === 'admin' ||
    lists === undefined ||
    lists[right].some((role) => roles[user]?.includes(role))
  )
}

const people = ['ann', 'bob', 'cid', 'dee']
const names = Object.keys(applications)
const ids = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']
const steps = 60
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

interface Definition {
  id: string
  name: string
  application: string
  lastModifiedBy?: string
}

interface Run {
  id: string
  application: string
  status: string
  authentication: { user: string }
  trigger: { type: string; user: string; parentExecution?: Run }
}

class Dice {
  #state: number
  /** Applications, most of them such that something comes of it. */
  #places: readonly string[] = names

  constructor(seed: number) {
    this.#state = seed * 2654435761
  }

  favour(user: string): void {
    const own = names.filter((name) => may(user, 'WRITE', name))
    this.#places = [...names, ...own, ...own, ...own]
  }

  below(limit: number): number {
    this.#state = (this.#state * 1664525 + 1013904223) % 4294967296
    return Math.floor((this.#state / 4294967296) * limit)
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T
  }

  definition(depth = 2): Record<string, unknown> {
    const id = this.pick(ids)
    const stages = Array.from({ length: 1 + this.below(2) }, (_, index) => ({
      refId: String(index),
      ...this.job(depth - 1, ids.indexOf(id)),
    }))
    const triggers = Array.from({ length: this.below(2) }, () => this.trigger(id))
    return {
      id,
      name: `${id} ${this.below(1000)}`,
      application: this.pick(this.#places),
      stages,
      triggers,
    }
  }

  /** Pipelines start those with a later id only, so that every chain ends. */
  trigger(id: string): Record<string, unknown> {
    const runAsUser = this.pick([undefined, undefined, 'robot', 'cid', ''])
    return {
      type: 'pipeline',
      enabled: true,
      pipeline: this.pick(ids.slice(0, ids.indexOf(id))) ?? 'none',
      status: ['successful'],
      runAsUser,
    }
  }

  job(depth: number, after = -1): Record<string, unknown> {
    const hidden = this.pick([{}, {}, { alias: 'deletePipeline' }])
    if (depth <= 0) return { type: 'wait', waitTime: 0 }
    switch (this.below(5)) {
      case 0:
        return { type: 'savePipeline', pipeline: encoded(this.definition(depth - 1)) }
      case 1:
        return { type: 'updatePipeline', pipeline: encoded(this.definition(depth - 1)) }
      case 2:
        return {
          type: 'wait',
          waitTime: 0,
          ...hidden,
          pipeline: encoded({ application: this.pick(names), name: this.pick(ids) }),
        }
      case 3:
        return {
          type: 'pipeline',
          pipeline: this.pick(ids.slice(after + 1)) ?? 'none',
          application: this.pick(names),
        }
      default:
        return { type: 'wait', waitTime: 0 }
    }
  }
}

async function startWorld(t: TestContext): Promise<Seeded> {
  const world = await startSeeded(t, { 'service-accounts': [{ name: 'robot', memberOf: ['r'] }] })
  for (const person of people) await world.add(person, roles[person] as string[])
  for (const name of names) await world.createApplication(name, applications[name])
  for (const [index, id] of ids.entries()) {
    const fields = {
      id,
      name: id,
      application: names[index % names.length],
      stages: [{ refId: '1', type: 'wait', waitTime: 0 }],
    }
    const saved = await world.ask('admin', 'POST /pipelines', {
      ...fields,
      triggers: [new Dice(index).trigger(id)],
    })
    assert.equal(saved.status, 200, saved.text)
  }
  return world
}

/** One thing that somebody tries. Refusals are as good as anything else. */
async function act({ ask }: Seeded, dice: Dice, user: string): Promise<void> {
  const definition = dice.definition()
  switch (dice.below(6)) {
    case 0:
    case 1:
      await ask(user, 'POST /pipelines', definition)
      return
    case 2:
      await ask(user, `PUT /pipelines/${definition['id']}`, definition)
      return
    case 3: {
      const [found] = (await listDefinitions({ ask })).slice(dice.below(ids.length))
      await ask(user, `POST /pipelines/${found?.application}/${found?.id}`, {})
      return
    }
    case 4:
      await ask(user, 'POST /pipelines/start', definition)
      return
    default:
      await ask(user, 'POST /tasks', { application: dice.pick(names), job: [dice.job(2)] })
  }
}

async function listRuns({ ask }: Seeded): Promise<Run[]> {
  const { text } = await ask(
    'admin',
    `GET /executions?pipelineConfigIds=${ids.join(',')}&limit=500&expand=false`,
  )
  return JSON.parse(text) as Run[]
}

/** The run that somebody started, of a chain of runs. */
function rootOf(run: Run): Run {
  const { parentExecution } = run.trigger
  return parentExecution === undefined ? run : rootOf(parentExecution)
}

async function settle(world: Seeded): Promise<void> {
  let quiet = 0
  await waitUntil(async () => {
    const lists = await Promise.all(
      names.map((name) =>
        world.ask('admin', `GET /applications/${name}/tasks?statuses=NOT_STARTED,RUNNING`),
      ),
    )
    const tasks = lists.flatMap((list) => list.json() as unknown[])
    const runs = (await listRuns(world)).filter(({ status }) =>
      ['NOT_STARTED', 'RUNNING'].includes(status),
    )
    quiet = tasks.length === 0 && runs.length === 0 ? quiet + 1 : 0
    return quiet > 1
  }, 'the end of all tasks and runs')
}

async function listDefinitions({ ask }: Pick<Seeded, 'ask'>): Promise<Definition[]> {
  return (await ask('admin', 'GET /pipelineConfigs')).json() as Definition[]
}

test('random changes and starts stay within the model', async (t) => {
  const world = await startWorld(t)
  let changes = 0
  const seen = new Set<string>()
  let recent: string[] = []
  for (let step = 1; step <= steps; step++) {
    const dice = new Dice(step)
    const user = dice.pick(people)
    dice.favour(user)
    // What follows a run may come a moment later.
    recent = [user, ...recent.slice(0, 1)]
    const before = new Map((await listDefinitions(world)).map((one) => [one.id, one]))
    await act(world, dice, user)
    await settle(world)
    const after = new Map((await listDefinitions(world)).map((one) => [one.id, one]))
    for (const id of ids) {
      const [old, current] = [before.get(id), after.get(id)]
      if (JSON.stringify(old) === JSON.stringify(current)) continue
      changes++
      const facts = JSON.stringify({ step, user, old, current })
      // Nobody else acts in this step but the accounts that triggers name; those may write nowhere but in `open`.
      const authors = current?.lastModifiedBy === undefined ? recent : [current.lastModifiedBy]
      if (current !== undefined)
        assert.ok(
          authors.some((one) => may(one, 'WRITE', current.application)),
          facts,
        )
      if (old !== undefined)
        assert.ok(
          [...authors, ...recent].some((one) => may(one, 'WRITE', old.application)),
          facts,
        )
      assert.ok(
        authors.some((one) => [...recent, 'robot', 'anonymous'].includes(one)),
        facts,
      )
    }
    for (const run of await listRuns(world)) {
      if (seen.has(run.id)) continue
      seen.add(run.id)
      const root = rootOf(run)
      const facts = JSON.stringify({ step, user, run: { ...run, stages: undefined } }).slice(
        0,
        1000,
      )
      assert.ok(may(run.authentication.user, 'EXECUTE', run.application), facts)
      assert.ok(
        [root.authentication.user, 'robot', 'anonymous'].includes(run.authentication.user),
        facts,
      )
      assert.equal(run.trigger.user, run.authentication.user, facts)
    }
  }
  assert.ok(changes > 10, `${changes} changes are too few to show anything`)
  assert.ok(seen.size > 5, `${seen.size} runs are too few to show anything`)
})
