/** The doctor over HTTP, for administrators. */
import { adminOnly } from '../demands.ts'
import { Examination } from '../examination.ts'
import type { Operation } from '../operation.ts'

export const doctorOperations: Operation[] = [
  {
    id: 'examineUsingGET',
    method: 'GET',
    path: '/doctor',
    demands: adminOnly,
    summary: 'Examine the installation',
    description:
      'What `fairlead doctor` finds: the effect of the configuration with which the gateway started, and every service that it names. Takes up to ten seconds. Users who ask at the same time share one examination.',
    cost: 20,
    handle: async (_request, { examine }) => examine(),
    answer: Examination,
    errors: { 403: 'The caller is no administrator.' },
  },
]
