/** The form of a webhook: the request in one line, and what is waited for. */
import { textOf } from '../../model/read.ts'
import { type Form, field, fold, oneOf, only, row } from './form.tsx'

type Waiting = 'response' | 'getMethod' | 'locationHeader' | 'webhookResponse'

function waitingOf({ get }: Form): Waiting {
  if (String(get('waitForCompletion')) !== 'true') return 'response'
  return (textOf(get('statusUrlResolution')) ?? 'getMethod') as Waiting
}

const sendsBody = ({ get }: Form) =>
  !['GET', 'HEAD'].includes((textOf(get('method')) ?? '').toUpperCase()) || get('payload') !== undefined

const waiting = oneOf<Waiting>('Wait for', {
  ways: [
    { id: 'response', label: 'The response', help: 'Any success ends the stage.' },
    { id: 'getMethod', label: 'The same address', help: 'GET until it reports the end.' },
    { id: 'locationHeader', label: 'The Location header', help: 'Where the response leads.' },
    { id: 'webhookResponse', label: 'An address in the response', help: 'Found by a path in its JSON.' },
  ],
  chosen: waitingOf,
  set: (id) => ({ waitForCompletion: id !== 'response', ...(id !== 'response' && { statusUrlResolution: id }) }),
  shows: ['waitForCompletion', 'statusUrlResolution'],
})

export const webhookForm = [
  row(field('method', 'Method'), field('url', 'Address', '', { isCode: true, placeholder: 'https://ci.example.com/api/jobs' })),
  only(sendsBody, field('payload', 'Body', 'JSON, such as {"version": "${parameters.version}"}.')),
  field('customHeaders', 'Headers', 'Secrets belong in the configuration, not here.'),
  waiting,
  only(
    (form) => waitingOf(form) === 'webhookResponse',
    field('statusUrlJsonPath', 'Path of the address', 'In the response.', { isCode: true, placeholder: '$.links.status' }),
  ),
  only(
    (form) => waitingOf(form) !== 'response',
    field('statusJsonPath', 'Path of the status', 'Unless given, any success ends the stage.', {
      isCode: true,
      placeholder: '$.status',
    }),
    field('successStatuses', 'Success', 'Separated by commas.', { placeholder: 'SUCCESS, DONE' }),
    field('terminalStatuses', 'Failure', 'The stage fails at once.', { placeholder: 'FAILED, ERROR' }),
    fold(
      'Cancelled, and progress',
      field('canceledStatuses', 'Cancelled', 'Separated by commas.'),
      field('progressJsonPath', 'Path of a text to show', 'While the stage waits.', { isCode: true }),
    ),
  ),
]
