/** Every Java class that expressions may use, and their calls. */
import { ExpressionError } from '../lexer.ts'
import { describe } from '../values.ts'
import type { CallContext, JavaClass, JavaClassReference, JavaObject } from './java-class.ts'
import { languageClasses } from './lang.ts'
import { timeClasses } from './time.ts'

export const javaClasses: readonly JavaClass[] = [...languageClasses, ...timeClasses]

const byName = new Map(javaClasses.map((each) => [each.name, each]))

/** More than looking at the arguments: a zone, a pattern. */
const stepsPerCall = 20

/** @param name Qualified, or that of a class of `java.lang`. @throws {ExpressionError} */
export function findJavaClass(name: string): JavaClass {
  const found = byName.get(name) ?? byName.get(`java.lang.${name}`)
  if (found !== undefined) return found
  throw new ExpressionError(
    `The class "${name.slice(0, 100)}" is not available in expressions. Write lists as {1, 2} and maps as {key: 'value'}, or use one of ` +
      `${javaClasses.map((each) => each.name.replace('java.lang.', '')).join(', ')}.`,
  )
}

/** @throws {ExpressionError} */
export function createJavaObject(
  name: string,
  args: readonly unknown[],
  context: CallContext,
): unknown {
  const { create, ...javaClass } = findJavaClass(name)
  if (create === undefined)
    throw new ExpressionError(`${javaClass.name} cannot be created with "new".`)
  return guarded(context, () => create(args, context))
}

/** @throws {ExpressionError} */
export function callStatic(
  { class: javaClass }: JavaClassReference,
  name: string,
  args: readonly unknown[],
  context: CallContext,
): unknown {
  const call = ownMember(javaClass.statics, name)
  if (call === undefined)
    throw new ExpressionError(`${javaClass.name} has no static method "${name.slice(0, 100)}()".`)
  return guarded(context, () => call(args, context))
}

/** @throws {ExpressionError} */
export function callJavaMethod(
  target: JavaObject,
  name: string,
  args: readonly unknown[],
  context: CallContext,
): unknown {
  const call = ownMember(target.class.methods, name)
  if (call === undefined)
    throw new ExpressionError(`"${name.slice(0, 100)}()" cannot be called on ${describe(target)}.`)
  return guarded(context, () => call(target.value, args, context))
}

/** @throws {ExpressionError} */
export function readConstant({ class: javaClass }: JavaClassReference, name: string): unknown {
  const value = ownMember(javaClass.constants, name)
  if (value === undefined)
    throw new ExpressionError(`${javaClass.name} has no constant "${name.slice(0, 100)}".`)
  return value
}

function ownMember<T>(
  members: Readonly<Record<string, T>> | undefined,
  name: string,
): T | undefined {
  return members !== undefined && Object.hasOwn(members, name) ? members[name] : undefined
}

/** What the runtime refuses, such as a 31st of February, is an error of the expression. */
function guarded<T>({ meter }: CallContext, call: () => T): T {
  meter.spend(stepsPerCall)
  try {
    return call()
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError)
      throw new ExpressionError(error.message)
    throw error
  }
}
