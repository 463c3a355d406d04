/** Snapshots of what an application runs in an account. */
import { readsApplicationOnAccount } from './demands.ts'
import type { Operation } from './operation.ts'
import { AnyObject, integer, ObjectList } from './schemas.ts'

export const snapshotOperations: Operation[] = [
  {
    id: 'getCurrentSnapshotUsingGET',
    section: '4.12',
    method: 'GET',
    path: '/applications/{application}/snapshots/{account}',
    demands: readsApplicationOnAccount,
    summary: 'The latest snapshot of an application in an account.',
    forward: { service: 'front50', path: '/snapshots/{application}-{account}' },
    answer: AnyObject,
  },
  {
    id: 'getSnapshotHistoryUsingGET',
    section: '4.12',
    method: 'GET',
    path: '/applications/{application}/snapshots/{account}/history',
    demands: readsApplicationOnAccount,
    summary: 'Earlier snapshots, newest first.',
    query: { limit: integer.default(20) },
    forward: { service: 'front50', path: '/snapshots/{application}-{account}/history', query: ['limit'] },
    answer: ObjectList,
  },
]
