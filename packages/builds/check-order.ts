/** Rules for starts that hold for all build servers, as far as the description of the job tells. */
import { fieldOf, type JsonObject, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/ports/port-error.ts'

/** @throws {PortError} 400 when the job is disabled, or a value is not one of the choices of its parameter */
export function checkOrder(job: string, config: JsonObject, parameters: Readonly<Record<string, string>>): void {
  if (config['buildable'] === false)
    throw new PortError(400, `The job "${job}" cannot be built: it is disabled. Enable it there.`)
  for (const definition of objectsOf(config['parameterDefinitionList'])) {
    const name = textOf(definition['name']) ?? ''
    const value = fieldOf(parameters, name)
    const choices = definition['choices']
    if (typeof value !== 'string' || !Array.isArray(choices) || textsOf(choices).includes(value)) continue
    throw new PortError(
      400,
      `"${value}" is not a choice of the parameter "${name}" of the job "${job}". Use one of ${textsOf(choices).join(', ')}.`,
    )
  }
}
