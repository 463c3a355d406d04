/** Java classes as expressions see them: tables of functions. No Java object exists, and none of the host is reachable. */
import type { Meter } from '@fairlead/base/regex/meter.ts'

export interface CallContext {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly meter: Meter
}

export type JavaFunction = (args: readonly unknown[], context: CallContext) => unknown
export type JavaMethod<T> = (target: T, args: readonly unknown[], context: CallContext) => unknown

/** A class with everything that expressions may use of it. `T` represents one of its objects. */
export interface JavaClass<T = never> {
  /** Qualified name. */
  readonly name: string
  /** `new name(…)` */
  readonly create?: JavaFunction
  /** `T(name).MEMBER` */
  readonly constants?: Readonly<Record<string, unknown>>
  /** `T(name).member(…)` */
  readonly statics?: Readonly<Record<string, JavaFunction>>
  /** Methods of its objects, besides `toString`, `equals` and `compareTo`. */
  readonly methods?: Readonly<Record<string, JavaMethod<T>>>
  readonly toText?: (value: T) => string
  /** What a whole value becomes in JSON; its text when absent. */
  readonly toJson?: (value: T) => unknown
  /** Objects of classes without it have no order. */
  readonly compare?: (one: T, other: T) => number
}

export class JavaObject<T = unknown> {
  readonly class: JavaClass<T>
  readonly value: T

  constructor(javaClass: JavaClass<T>, value: T) {
    this.class = javaClass
    this.value = value
  }

  toText(): string {
    return this.class.toText?.(this.value) ?? `an object of ${this.class.name}`
  }
}

/** A class itself, as `T(name)` gives it. */
export class JavaClassReference {
  readonly class: JavaClass

  constructor(javaClass: JavaClass) {
    this.class = javaClass
  }
}

export type Wrap<T> = (value: T) => JavaObject<T>

/** A class whose members make objects of it, by `wrap`. */
export function createJavaClass<T>(
  name: string,
  members: (wrap: Wrap<T>, javaClass: JavaClass<T>) => Omit<JavaClass<T>, 'name'>,
): JavaClass<T> {
  const javaClass: JavaClass<T> = { name }
  return Object.assign(
    javaClass,
    members((value) => new JavaObject(javaClass, value), javaClass),
  )
}
