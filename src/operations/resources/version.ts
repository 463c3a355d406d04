/** The version of the gateway, which command lines ask for before anything else. */

import { z } from 'zod'
import { tellsWhoAsks } from '../demands.ts'
import type { Operation } from '../operation.ts'

export const versionOperations: Operation[] = [
  {
    id: 'getVersionUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/version',
    demands: tellsWhoAsks,
    summary: 'Get the version',
    description: 'The version of this gateway.',
    handle: async (_request, platform) => ({ version: platform.version }),
    answer: z.object({ version: z.string() }),
  },
]
