/**
 * Values that go with objects, and that no copy and no text of these has. Unlike with a `WeakMap`, collections of the young generation
 * free both, also where the value leads back to its object.
 */
export class Attached<Holder extends object, Value> {
  readonly #key = Symbol('attached')

  get(holder: Holder): Value | undefined {
    return (holder as Record<symbol, Value>)[this.#key]
  }

  set(holder: Holder, value: Value): Value {
    Object.defineProperty(holder, this.#key, { value, writable: true, configurable: true })
    return value
  }
}
