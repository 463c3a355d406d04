/** Subjects of a request body, by what its operation demands. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { isObject, objectOf } from '@fairlead/base/json/values.ts'
import type { Need } from '@fairlead/model/rights/decide.ts'
import type { Demand } from '../demands.ts'
import type { OperationRequest } from '../operation.ts'
import { valuesOf } from './parameters.ts'
import { type DemandSubject, textsIn } from './subject.ts'
import {
  subjectsOfDefinition,
  subjectsOfStart,
  subjectsOfTask,
  subjectsOfTrigger,
} from './subjects.ts'

const maxSubjects = 2000

export function isAboutBody(demand: Demand): boolean {
  if (['definitions', 'jobs', 'trigger', 'canary-config'].includes(demand.kind)) return true
  if (demand.kind === 'account' || demand.kind === 'template') return demand.of === 'body'
  return (
    demand.kind === 'application' &&
    (demand.of === 'body' || (demand.of === 'started' && demand.parameter === undefined))
  )
}

export function saysApplication({ kind }: Demand): boolean {
  return kind !== 'account' && kind !== 'trigger'
}

export function subjectsOfBody(
  demand: Demand,
  request: OperationRequest,
  body: unknown,
): DemandSubject[] {
  const fields = objectOf(body)
  switch (demand.kind) {
    case 'application':
      return demand.of === 'started'
        ? subjectsOfStart(fields)
        : textsIn(fields[demand.parameter ?? 'application']).map((name) =>
            toSubject({ kind: 'application', name, authorization: demand.authorization }),
          )
    case 'account':
      return textsIn(fields['name'] ?? fields['account']).map((name) =>
        toSubject({ kind: 'account', name, authorization: demand.authorization }),
      )
    case 'template':
      return [
        { kind: 'template', template: fields },
        ...textsIn(fields['id']).map(
          (id): DemandSubject => ({ kind: 'owned', what: 'template', id, authorization: 'WRITE' }),
        ),
      ]
    case 'canary-config':
      return [{ kind: 'canary-config', config: fields }]
    case 'definitions':
      return [
        ...changedByAddress(request),
        ...(Array.isArray(body) ? body : [body]).filter(isObject).flatMap(subjectsOfDefinition),
      ]
    case 'trigger':
      return [fields, fields['trigger']].flatMap(subjectsOfTrigger)
    case 'jobs':
      return subjectsOfTask(fields)
    default:
      return []
  }
}

function changedByAddress(request: OperationRequest): DemandSubject[] {
  return valuesOf(request, ['id']).map((id) => ({
    kind: 'owned',
    what: 'definition',
    id,
    authorization: 'WRITE',
    live: true,
  }))
}

function toSubject(need: Need): DemandSubject {
  return { kind: 'need', need }
}

/** Each of them is looked up in a service, one after the other. @throws {GatewayError} BAD_ARGUMENT */
export function checkCount(subjects: readonly DemandSubject[]): void {
  if (subjects.length <= maxSubjects) return
  const message = `The body is about more than ${maxSubjects} applications, accounts and definitions. Send it in several requests.`
  throw new GatewayError('BAD_ARGUMENT', message)
}

export function distinct(subjects: readonly DemandSubject[]): DemandSubject[] {
  return [...new Map(subjects.map((subject) => [keyOf(subject), subject])).values()]
}

function keyOf(subject: DemandSubject): unknown {
  if (subject.kind === 'owned')
    return `${subject.what} ${subject.authorization} ${subject.live ?? false} ${subject.id}`
  return subject.kind === 'need' || subject.kind === 'deployed' ? JSON.stringify(subject) : subject
}
