/** `fairlead diff`: what `apply` would change. */
import { defineCommand } from '../command.ts'
import { exitCodes } from '../failure.ts'
import { formatPlan, toPlanDocument } from '../files/plan.ts'
import { planOptions, preparePlan, readPlanInput } from '../files/prepare.ts'

export const diff = defineCommand({
  name: 'diff',
  group: 'files',
  summary: 'show what apply would change',
  help: 'Ends with 2 if there are differences. docs/guides/pipelines-as-files.md describes the files.',
  options: planOptions,
  run: async ({ output, connect }, values) => {
    const input = await readPlanInput(values)
    const { changes } = await preparePlan(await connect(), input)
    output.result({ changes: toPlanDocument(changes) }, formatPlan(changes))
    return changes.length > 0 ? exitCodes.differences : exitCodes.done
  },
})
