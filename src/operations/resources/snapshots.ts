/** Snapshots of what an application runs in an account. */
import { z } from 'zod'
import { SnapshotModel } from '../../environments/application-models.ts'
import { GatewayError } from '../../errors.ts'
import { integer } from '../../json/schemas.ts'
import type { JsonObject } from '../../json/values.ts'
import { foldName } from '../../names/fold-name.ts'
import { get } from '../declare.ts'
import { readsApplicationOnAccount } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { checkList, checkObject } from '../upstream-shape.ts'

export const snapshotOperations: Operation[] = [
  get('getCurrentSnapshotUsingGET', '/applications/{application}/snapshots/{account}', {
    core: true,
    demands: readsApplicationOnAccount,
    summary: 'Get the latest snapshot',
    forward: { service: 'front50', path: '/snapshots/{application}-{account}' },
    pick: checkOwn,
    answer: SnapshotModel,
  }),
  get('getSnapshotHistoryUsingGET', '/applications/{application}/snapshots/{account}/history', {
    core: true,
    demands: readsApplicationOnAccount,
    summary: 'List snapshots',
    description: 'Earlier snapshots, newest first.',
    query: { limit: integer.default(20) },
    forward: { service: 'front50', path: '/snapshots/{application}-{account}/history' },
    pick: (body, request) => (body === null ? null : checkList(body, 'front50').filter((each) => isOwn(each, request))),
    answer: z.array(SnapshotModel),
  }),
]

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
