/** Snapshots of what an application runs in an account. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { foldName } from '../../fold-name.ts'
import type { JsonObject } from '../../json/values.ts'
import { readsApplicationOnAccount } from '../demands.ts'
import { Snapshot } from '../models/applications.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { integer } from '../schemas.ts'
import { checkList, checkObject } from '../upstream-shape.ts'

export const snapshotOperations: Operation[] = [
  {
    id: 'getCurrentSnapshotUsingGET',
    core: true,
    method: 'GET',
    path: '/applications/{application}/snapshots/{account}',
    demands: readsApplicationOnAccount,
    summary: 'Get the latest snapshot',
    description: 'The latest snapshot of an application in an account.',
    forward: { service: 'front50', path: '/snapshots/{application}-{account}' },
    pick: checkOwn,
    answer: Snapshot,
  },
  {
    id: 'getSnapshotHistoryUsingGET',
    core: true,
    method: 'GET',
    path: '/applications/{application}/snapshots/{account}/history',
    demands: readsApplicationOnAccount,
    summary: 'List snapshots',
    description: 'Earlier snapshots, newest first.',
    query: { limit: integer.default(20) },
    forward: { service: 'front50', path: '/snapshots/{application}-{account}/history' },
    pick: (body, request) => (body === null ? null : checkList(body, 'front50').filter((each) => isOwn(each, request))),
    answer: z.array(Snapshot),
  },
]

/** @throws {GatewayError} NOT_FOUND when it is another application's */
function checkOwn(body: unknown, request: OperationRequest): JsonObject | null {
  if (body === null) return null
  const snapshot = checkObject(body, 'front50')
  if (isOwn(snapshot, request)) return snapshot
  const { application, account } = request.path
  throw new GatewayError('NOT_FOUND', `There is no snapshot of the application "${application}" in the account "${account}".`)
}

/** The store joins both names with a hyphen, which either may hold: `a-b` and `c` look like `a` and `b-c`. */
function isOwn({ application }: JsonObject, { path }: OperationRequest): boolean {
  return typeof application !== 'string' || foldName(application) === foldName(String(path['application']))
}
