/** The doctor over HTTP, for administrators. */

import { get } from '../declare.ts'
import { adminOnly } from '../demands.ts'
import { ExaminationModel } from '../examination.ts'
import type { Operation } from '../operation.ts'

export const doctorOperations: Operation[] = [
  get('examineUsingGET', '/doctor', {
    demands: adminOnly,
    summary: 'Examine the installation',
    description:
      'What `fairlead doctor` finds: the effect of the configuration with which the gateway started, and every service that it names. Takes up to ten seconds. Users who ask at the same time share one examination.',
    cost: 20,
    handle: async (_request, { examine }) => examine(),
    answer: ExaminationModel,
    errors: { 403: 'The caller is no administrator.' },
  }),
]
