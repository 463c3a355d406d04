/** Inputs of a workflow that is started by hand, as parameters of its job. */
import { list, maybe, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { parseYaml } from '@fairlead/base/json/yaml.ts'

/** Reading YAML takes long, and nothing else is done meanwhile. */
const maxLength = 128 * 1024

interface WorkflowFile {
  /** Whether it has the event `workflow_dispatch`; undefined where that cannot be told. */
  readonly isStartable: boolean | undefined
  readonly parameters: readonly JsonObject[]
}

export const unknownFile: WorkflowFile = { isStartable: undefined, parameters: [] }

const toInput = shape({
  description: textOf,
  default: maybe(String),
  type: textOf,
  options: list(String),
})
const toDocument = shape({
  on: (on) =>
    isObject(on) ? on : Object.fromEntries([on, ...listOf(on)].map((name) => [String(name), null])),
})
const toDispatch = shape({ workflow_dispatch: shape({ inputs: objectOf }) })

export function parseWorkflowFile(text: string): WorkflowFile {
  if (text.length > maxLength) return unknownFile
  try {
    const { on } = toDocument(parseYaml(text))
    const { inputs } = toDispatch(on).workflow_dispatch
    const parameters = Object.entries(inputs).map(([name, input]) => toParameter(name, input))
    return { isStartable: Object.hasOwn(on, 'workflow_dispatch'), parameters }
  } catch {
    return unknownFile
  }
}

function toParameter(name: string, input: unknown): JsonObject {
  const { description, default: defaultValue = null, type, options } = toInput(input)
  return definedOf({
    name,
    description,
    defaultValue,
    choices: type === 'choice' && options.length > 0 ? options : undefined,
  })
}
