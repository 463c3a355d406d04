/** Checks the desired state before it applies: names of files, and changes that end programs. */
import type { DesiredInstance, DesiredState } from './protocol.ts'

const idPattern = /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/

/**
 * Types hold otherwise: Fairlead, which alone may open the socket, is compiled with them.
 *
 * @throws {SyntaxError} says what is wrong
 */
export function checkDesiredState(body: unknown): DesiredState {
  const state = body as DesiredState
  if (!Number.isSafeInteger(state?.revision) || state.revision < 1) throw new SyntaxError('revision is no positive integer.')
  if (!Array.isArray(state.instances) || !Array.isArray(state.loadBalancers)) {
    throw new SyntaxError('instances and loadBalancers have to be lists.')
  }
  const ids = new Set<string>()
  for (const instance of state.instances as DesiredInstance[]) {
    checkInstance(instance)
    if (ids.has(instance.id)) throw new SyntaxError(`The instance ${instance.id} is listed twice.`)
    ids.add(instance.id)
  }
  return state
}

function checkInstance({ id, generation, program, stopGraceMs }: DesiredInstance): void {
  if (typeof id !== 'string' || !idPattern.test(id)) {
    throw new SyntaxError(`The instance id ${JSON.stringify(id)} has other characters than letters, digits and hyphens.`)
  }
  const isWhole =
    Number.isSafeInteger(generation) &&
    Number.isFinite(stopGraceMs) &&
    Array.isArray(program?.command) &&
    program.command.every((word) => typeof word === 'string' && !word.includes('\0')) &&
    Number.isFinite(program.limits?.consoleBytes) &&
    Object.values(program.environment ?? { '': undefined }).every((value) => typeof value === 'string')
  if (!isWhole) throw new SyntaxError(`The instance ${id} is incomplete.`)
}
