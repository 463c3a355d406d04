/** `fairlead apply`: brings an instance to what files say, one change after the other. */
import type { FileKind } from '@fairlead/model/definition-files/file-kinds.ts'
import { type CommandContext, defineCommand } from '../command.ts'
import { exitCodes, Failure, toFailure } from '../failure.ts'
import { titleOf } from '../files/definition.ts'
import type { Instance } from '../files/instance.ts'
import { type Change, formatPlan, toPlanDocument } from '../files/plan.ts'
import { planOptions, preparePlan, readPlanInput } from '../files/prepare.ts'

export const apply = defineCommand({
  name: 'apply',
  group: 'files',
  summary: 'make definitions of an instance what files say',
  help: `A failure stops; a second apply goes on. Files are never changed.

Example: fairlead apply -f pipelines/ --prune`,
  options: {
    ...planOptions,
    'dry-run': { type: 'switch', summary: 'show the changes, and end with 2 if there are some' },
  },
  run: async (context, values) => {
    const { output, questions, connect } = context
    const input = await readPlanInput(values)
    const { instance, changes } = await preparePlan(await connect(), input)
    const isDry = values['dry-run']
    if (isDry || changes.length === 0) {
      output.result({ changes: toPlanDocument(changes), applied: false }, formatPlan(changes))
      return changes.length > 0 ? exitCodes.differences : exitCodes.done
    }
    output.line(formatPlan(changes).join('\n'))
    const deletions = changes.filter(({ action }) => action === 'delete')
    if (deletions.length > 0 && !(await questions.confirm(`${askToDelete(deletions)}?`))) {
      output.note('Nothing is changed.')
      return exitCodes.failed
    }
    await applyAll(context, instance, changes)
    if (output.json) output.result({ changes: toPlanDocument(changes), applied: true }, [])
    return exitCodes.done
  },
})

function askToDelete(deletions: readonly Change[]): string {
  return `Delete ${deletions.map(({ definition }) => titleOf(definition)).join(', ')}`
}

const words = { create: 'Created', change: 'Changed', delete: 'Deleted' } as const

/** @throws {Failure} that names what is done and what is left */
async function applyAll(
  { output }: CommandContext,
  instance: Instance,
  changes: readonly Change[],
): Promise<void> {
  const marks = new Map<string, Record<'created' | 'deleted', (readonly [FileKind, string])[]>>()
  const done: Change[] = []
  try {
    for (const change of changes) {
      const { action, definition } = change
      const { application, kind } = definition
      const id = await instance.make(change)
      done.push(change)
      output.line(`${words[action]} the ${titleOf(definition)}.`)
      if (id === undefined || application === undefined) continue
      const ofApplication = marks.get(application) ?? { created: [], deleted: [] }
      marks.set(application, ofApplication)
      ofApplication[action === 'delete' ? 'deleted' : 'created'].push([kind, id])
    }
  } catch (error) {
    throw partial(error, done, changes)
  } finally {
    for (const [application, made] of marks) await instance.mark(application, made)
  }
}

function partial(error: unknown, done: readonly Change[], all: readonly Change[]): Failure {
  const failed = all[done.length]
  const { exit, code, message, remedy } = toFailure(error)
  const list = (changes: readonly Change[]) =>
    changes.map(({ definition }) => titleOf(definition)).join(', ') || 'nothing'
  const what = failed === undefined ? 'A change' : `The ${titleOf(failed.definition)}`
  return new Failure(
    exit,
    code,
    `${what} could not be applied: ${message} Done: ${list(done)}. Left: ${list(all.slice(done.length))}.`,
    { remedy: remedy ?? 'Mend it and apply again, which goes on with what is left.', cause: error },
  )
}
