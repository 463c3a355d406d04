/** One subject of a request: an application or account by name, or an id. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { isRawNumber } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import type { Need } from '@fairlead/model/rights/decide.ts'
import type { Authorization } from '@fairlead/model/rights/permissions.ts'

export type OwnedKind =
  | 'execution'
  | 'task'
  | 'definition'
  | 'strategy'
  | 'template'
  | 'canary-config'
  | 'entity-tags'

/** `later`: the embedded store saves it all the same, and holds back what it concerns until the right is there. */
export type DemandSubject =
  | { readonly kind: 'need'; readonly need: Need; readonly later?: true }
  /** Its owner is looked up by the id. `live` leaves out definitions that are deleted. */
  | {
      readonly kind: 'owned'
      readonly what: OwnedKind
      readonly id: string
      readonly authorization: Authorization
      readonly live?: true
    }
  /** An instance, a manifest or a job, of which only the infrastructure knows the application; a part is undefined where it is not clear. */
  | {
      readonly kind: 'deployed'
      readonly what: 'instance' | 'manifest' | 'job'
      readonly id: string
      readonly account: string | undefined
      readonly region: string | undefined
      readonly authorization: Authorization
      readonly application?: string
    }
  | { readonly kind: 'template'; readonly template: JsonObject }
  | { readonly kind: 'canary-config'; readonly config: JsonObject }
  /** Projects: they belong to no application, and show several. */
  | { readonly kind: 'shared' }
  /** Something that has to be named, and is not, or by an expression, which is replaced after the check. */
  | { readonly kind: 'hidden'; readonly problem: string; readonly later?: true }

const unclear =
  'Permissions cannot be derived from an expression: name applications, accounts and definitions in plain text.'

/**
 * Services read a number as the text of it, and one that can be written in several ways each in its own.
 *
 * @throws {GatewayError} BAD_ARGUMENT
 */
export function textsIn(value: unknown): string[] {
  if (isRawNumber(value) && !/^-?[1-9]\d*$/.test(String(value))) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      `A name has to be a text, not the number ${value}. Put it in quotes.`,
    )
  }
  const text = typeof value === 'number' || isRawNumber(value) ? String(value) : value
  return typeof text === 'string' && text.trim() !== '' ? [text] : []
}

/** A number is stored as the text of it; nothing else may stand in for a text. @throws {GatewayError} BAD_ARGUMENT */
export function definitionTexts(fields: JsonObject, key: string): string[] {
  const value = fields[key] ?? ''
  if (typeof value === 'object')
    throw new GatewayError('BAD_ARGUMENT', `"${key}" of a definition has to be a text.`)
  return value === '' ? [] : [String(value)]
}

export function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap(textsIn) : textsIn(value)
}

export function keysOf(value: unknown): string[] {
  return Object.keys(objectOf(value))
}

export function toNeed(
  name: string,
  authorization: Authorization,
  more: Pick<Extract<Need, { kind: 'application' }>, 'whenUnknown'> = {},
): DemandSubject {
  return unlessHidden(name, {
    kind: 'need',
    need: { kind: 'application', name, authorization, ...more },
  })
}

export function toAccount(name: string): DemandSubject {
  return unlessHidden(name, {
    kind: 'need',
    need: { kind: 'account', name, authorization: 'WRITE' },
  })
}

export function toOwned(what: OwnedKind, id: string, authorization: Authorization): DemandSubject {
  return unlessHidden(id, { kind: 'owned', what, id, authorization })
}

/** In a body: a deleted one may be restored under its id with WRITE on its new application. */
export function toDefinition(id: string, authorization: Authorization): DemandSubject {
  return unlessHidden(id, { kind: 'owned', what: 'definition', id, authorization, live: true })
}

/** The orchestrator would replace an expression after the check. */
export function unlessHidden(text: string, subject: DemandSubject): DemandSubject {
  return isHidden(text) ? hidden() : subject
}

export function isHidden(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${')
}

/** Keys are evaluated, too, and a later one replaces what was checked. */
export function hiddenKeys(fields: object): DemandSubject[] {
  return Object.keys(fields).some(isHidden) ? [hidden()] : []
}

export function hidden(): DemandSubject {
  return { kind: 'hidden', problem: unclear }
}

const ownerLabel = 'app.kubernetes.io/name'

/** Applications to whose manifests label selectors are limited; none when they reach those of all. */
export function ownersBySelectors(labelSelectors: unknown): string[] {
  return objectsOf(objectOf(labelSelectors)['selectors']).flatMap(({ kind, key, values }) =>
    key === ownerLabel && /^(?:equals|contains)$/i.test(String(kind)) ? namesIn(values) : [],
  )
}

export function applicationsIn(key: string, value: unknown): string[] {
  if (key === 'application') return textsIn(isObject(value) ? value['name'] : value)
  if (key === 'applications') return namesIn(value)
  return key === 'moniker' && isObject(value) ? textsIn(value['app']) : []
}
