/** Inputs of a workflow that is started by hand, as parameters of its job. */
import { definedOf, fieldAt, fieldOf, isObject, type JsonObject, listOf, textOf } from '../../../json/values.ts'
import { parseYaml } from '../../../json/yaml.ts'

/** Reading YAML takes long, and nothing else is done meanwhile. */
const maxLength = 128 * 1024

export interface WorkflowFile {
  /** Whether it has the event `workflow_dispatch`; undefined where that cannot be told. */
  readonly isStartable: boolean | undefined
  readonly parameters: readonly JsonObject[]
}

const unknownFile: WorkflowFile = { isStartable: undefined, parameters: [] }

export function parseWorkflowFile(text: string): WorkflowFile {
  if (text.length > maxLength) return unknownFile
  try {
    const document = parseYaml(text)
    const on = fieldOf(document, 'on')
    const names = isObject(on) ? Object.keys(on) : [on, ...listOf(on)]
    const inputs = fieldAt(on, 'workflow_dispatch', 'inputs')
    const parameters = isObject(inputs) ? Object.entries(inputs).map(([name, input]) => toParameter(name, input)) : []
    return { isStartable: names.includes('workflow_dispatch'), parameters }
  } catch {
    return unknownFile
  }
}

function toParameter(name: string, input: unknown): JsonObject {
  const byDefault = fieldOf(input, 'default')
  const options = listOf(fieldOf(input, 'options')).map(String)
  const isChoice = fieldOf(input, 'type') === 'choice'
  return definedOf({
    name,
    description: textOf(fieldOf(input, 'description')),
    defaultValue: byDefault === undefined || byDefault === null ? null : String(byDefault),
    choices: isChoice && options.length > 0 ? options : undefined,
  })
}
